import { remembered } from '../model/cache.ts';
import type { CalendarItem, CrmItem, ItemTime } from '../model/items.ts';
import type { ItemKey } from '../model/operations.ts';
import {
  type FactSearch,
  lettersOf,
  type PatientDetails,
  type PatientFact,
  phoneDigitsOf,
} from '../model/patient-facts.ts';
import type { Appointment, AppointmentPatient } from '../model/records.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import type { TargetSetup } from './cycle-input.ts';
import type { Decision } from './diff.ts';
import type { Mapping } from './mapping/contract.ts';
import {
  APPOINTMENT_WORDS,
  type Directory,
  type EventTexts,
  type ProjectionPolicy,
  type TextSubject,
  type TitleLevel,
  textsFor,
} from './project.ts';

/**
 * Looks at what would leave, once more and by other means than it was made: whatever tells of the patient what the target's policy or mapping
 * does not allow is a defect of ours, and stays here. This is the last place where the patient is known: beyond it there are items alone.
 */

/** Makes of an event for an appointment the decision that it is. @param key as {@link textsFor} takes it */
export type EventCheck = (item: CalendarItem, appointment: Appointment, key: () => ItemKey) => Decision;

/**
 * Prepares the check of a calendar's events. The object stays as it is when the event would tell too much, or tells of another
 * appointment or of somebody else. Words that an event for nobody would have too, as those of a location that is called as the patient
 * is, are not told of the patient.
 */
export function eventCheck(policy: ProjectionPolicy, directory: Directory, facts: FactSearch): EventCheck {
  const nobodysFor = nobodysTexts(policy, directory);
  return (item, appointment, key) => {
    const nobodys = nobodysFor(appointment, key);
    const isNobodys =
      item.title === nobodys.title && item.description === nobodys.description && item.location === nobodys.location;
    const patient = appointment.patient ?? directory.patients.get(appointment.patientId ?? '');
    // What is word for word the event for nobody has no word of the patient's own.
    if (!isNobodys && patient !== undefined && policy.title !== 'full') {
      const disclosed = facts.revealedIn(patient, {
        texts: textsOf(item),
        mayReveal: () => false,
        own: () => textsOf(nobodys),
      });
      if (disclosed !== null) return stopped(disclosed);
    }
    const isOwn = isNobodys || isOf(item, nobodys, policy.title, patient);
    return isOwn && isAt(item.time, appointment.time) ? { item } : stopped('other-person');
  };
}

/** A patient of whom nothing is known. */
const NOBODY: AppointmentPatient = { id: '', firstName: null, lastName: null };

/** Texts for nobody that are remembered at once: appointments of one agenda, treatment and status share theirs. */
const REMEMBERED = 5_000;

/** The texts that an event would have if the appointment were nobody's. Those that tell of this appointment alone are made for each. */
function nobodysTexts(policy: ProjectionPolicy, directory: Directory) {
  const made = (subject: Omit<TextSubject, 'patient'>, key: () => ItemKey) =>
    textsFor({ ...subject, patient: NOBODY }, policy, directory, key);
  // By nothing but what they are remembered under.
  const shared = remembered(REMEMBERED, (subject: string) => made(JSON.parse(subject), () => ''));
  const isOfItsOwn = policy.title === 'code' || policy.links.length > 0;
  return (appointment: Appointment, key: () => ItemKey): EventTexts => {
    const { id, status, agendaId, locationId, treatmentId, patientId, teleVisitUrl } = appointment;
    const nobody = patientId === null ? null : NOBODY.id;
    const subject = { id: '', status, agendaId, locationId, treatmentId, patientId: nobody };
    if (!isOfItsOwn) return shared(JSON.stringify(subject));
    return made({ ...subject, id, ...(teleVisitUrl === undefined ? {} : { teleVisitUrl }) }, key);
  };
}

/** Whether an event is at an appointment's time, whatever its zone. */
function isAt(shown: ItemTime, time: Appointment['time']): boolean {
  if (shown.kind === 'timed' && time.kind === 'timed') {
    return isInstant(shown.start, time.startAt) && isInstant(shown.end, time.endAt);
  }
  return (
    shown.kind === 'all-day' &&
    time.kind === 'all-day' &&
    shown.startDate === time.startDate &&
    shown.endDate === time.endDate
  );
}

/** Whether a local time with its offset is this instant, to the second. */
function isInstant(text: string, at: Instant): boolean {
  return Math.floor(Date.parse(text) / SECOND_MS) === Math.floor(at / SECOND_MS);
}

/**
 * Whether an event differs from that for nobody in nothing but what its level tells of the patient. Of initials nobody can tell whose they
 * are.
 */
function isOf(item: CalendarItem, nobodys: EventTexts, level: TitleLevel, patient?: PatientDetails): boolean {
  if (item.description !== nobodys.description || item.location !== nobodys.location) return false;
  if (level === 'initials' || item.title === nobodys.title) return true;
  return level === 'full' && patient !== undefined && isNamed(item.title, nobodys.title, patient);
}

/** Whether a title is the one for nobody with the patient's name in place of the word for an appointment, once or wherever it stands. */
function isNamed(title: string, nobodys: string, { firstName, lastName }: PatientDetails): boolean {
  const [disclosed, plain, name] = [title, nobodys, `${firstName ?? ''}${lastName ?? ''}`].map(lettersOf) as [
    string,
    string,
    string,
  ];
  return APPOINTMENT_WORDS.map(lettersOf).some((word) => {
    const parts = plain.split(word);
    const named = (at: number) => parts.slice(0, at).join(word) + name + parts.slice(at).join(word);
    return disclosed === parts.join(name) || parts.some((_, at) => at > 0 && disclosed === named(at));
  });
}

function textsOf({ title, description, location }: EventTexts): (string | null)[] {
  return [title, description, location];
}

/** The fields of a patient that tell a fact, as rules name them and as expressions do. */
const FIELDS: Readonly<Record<PatientFact, readonly string[]>> = {
  'first-name': ['firstName', 'fullName'],
  'last-name': ['lastName', 'fullName'],
  email: ['email'],
  phone: ['phone', 'mobilePhone'],
  'tax-code': ['taxCode'],
  'birth-date': ['birthDate'],
  address: ['address.street', 'address', 'street'],
};

/**
 * The same of an object in a CRM, of a patient or of one of theirs: a contact's name, address, telephone and tax code are the patient's own. Texts alone are looked at: dates and numbers of other things may be the
 * patient's by chance.
 * @param others texts of the clinic from which properties may be made
 */
export function checkedObject(
  item: CrmItem,
  patient: PatientDetails,
  { crm, stream }: Pick<TargetSetup, 'crm' | 'stream'>,
  { others, facts }: { others: readonly (string | null)[]; facts: FactSearch },
): Decision {
  if (crm === null) return { item };
  const { properties, reads } = crm.mapping;
  const disclosed = facts.revealedIn(patient, {
    texts: properties.flatMap(({ name, kind }) => {
      const value = item.properties[name];
      return kind === 'text' && typeof value === 'string' ? [value] : [];
    }),
    mayReveal: (fact) => stream === 'patients' && FIELDS[fact].some(reads.field),
    own: () => [...others, ...reads.texts],
  });
  if (disclosed !== null) return stopped(disclosed);
  return stream !== 'patients' || isAsPatient(item, patient, crm.mapping) ? { item } : stopped('other-person');
}

/** Whether what the mapping takes from a patient as it is is theirs; what it leaves empty is nobody's. */
function isAsPatient({ properties }: CrmItem, patient: PatientDetails, { copies }: Pick<Mapping, 'copies'>): boolean {
  return [...copies].every(([name, field]) => {
    const value = properties[name];
    if (typeof value !== 'string' || value === '') return true;
    if (field === 'phone' || field === 'mobilePhone')
      return phoneDigitsOf(value) === phoneDigitsOf(patient[field] ?? '');
    const { firstName, lastName } = patient;
    const own = field === 'fullName' ? [firstName, lastName].join('') : patient[field];
    return lettersOf(value) === lettersOf(own ?? '');
  });
}

function stopped(fact: PatientFact | 'other-person'): Decision {
  return { retain: `egress-${fact}`, stopsWriting: true };
}

/** Of the records that a plan leaves as they are, those that would have told too much: how many, by code. */
export function egressStopped(excluded: Readonly<Record<string, number>>): [code: string, count: number][] {
  return Object.entries(excluded).filter(([code]) => code.startsWith('egress-'));
}
