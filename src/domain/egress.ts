import { remembered } from '../core/model/cache.ts';
import type { CalendarItem, CrmItem, ItemTime } from '../core/model/items.ts';
import type { ItemKey } from '../core/model/operations.ts';
import {
  type FactSearch,
  lettersOf,
  type PatientDetails,
  type PatientFact,
  phoneDigitsOf,
} from '../core/model/patient-facts.ts';
import type { Appointment, AppointmentPatient } from '../core/model/records.ts';
import { shownName } from '../core/model/text.ts';
import { type Instant, SECOND_MS } from '../core/model/time.ts';
import type { Decision } from '../engine/diff.ts';
import { readBy } from '../settings/event-fields.ts';
import type { TargetSetup } from './cycle-input.ts';
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
 * Checks outgoing content a second time, independently of its creation. Patient data that the target's policy or mapping does not allow is
 * a defect of clinic-mirror and is not sent. The check is the last step with access to the patient; later steps have only items.
 */

/**
 * Converts an event for an appointment to a decision.
 * @param key as in {@link textsFor}
 */
export type EventCheck = (item: CalendarItem, appointment: Appointment, key: () => ItemKey) => Decision;

/**
 * Prepares the check of a calendar's events. The object stays unchanged if the event reveals too much, or belongs to another appointment or
 * patient. Words of the event without a patient, such as a location named like the patient, are not patient data.
 */
export function eventCheck(policy: ProjectionPolicy, directory: Directory, facts: FactSearch): EventCheck {
  const nobodysFor = nobodysTexts(policy, directory);
  return (item, appointment, key) => {
    const nobodys = nobodysFor(appointment, key);
    const isNobodys =
      item.title === nobodys.title && item.description === nobodys.description && item.location === nobodys.location;
    const patient = appointment.patient ?? directory.patients.get(appointment.patientId ?? '');
    // A text equal to the text without a patient contains no word about the patient.
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

/** A patient without data. */
const NOBODY: AppointmentPatient = { id: '', firstName: null, lastName: null };

/** Cache size for texts without a patient: appointments of one agenda, treatment and status share a text. */
const REMEMBERED = 5_000;

/** Returns the texts of an event without a patient. Texts specific to one appointment are not cached. */
function nobodysTexts(policy: ProjectionPolicy, directory: Directory) {
  const made = (subject: Omit<TextSubject, 'patient'>, key: () => ItemKey) =>
    textsFor({ ...subject, patient: NOBODY }, policy, directory, key);
  // The cached text depends only on the cache key.
  const shared = remembered(REMEMBERED, (subject: string) => made(JSON.parse(subject), () => ''));
  const isOfItsOwn = policy.title === 'code' || policy.links.length > 0;
  return (appointment: Appointment, key: () => ItemKey): EventTexts => {
    const { id, patientId, teleVisitUrl } = appointment;
    const nobody = patientId === null ? null : NOBODY.id;
    const subject = { ...readBy(policy.fields, appointment), id: '', patientId: nobody };
    if (!isOfItsOwn) return shared(JSON.stringify(subject));
    return made({ ...subject, id, ...(teleVisitUrl === undefined ? {} : { teleVisitUrl }) }, key);
  };
}

/** Returns whether an event has an appointment's time, in any zone. */
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

/** Returns whether a local time with offset is the instant, to the second. */
function isInstant(text: string, at: Instant): boolean {
  return Math.floor(Date.parse(text) / SECOND_MS) === Math.floor(at / SECOND_MS);
}

/**
 * Returns whether an event differs from the event without a patient only by the data that the title level allows. Initials cannot be
 * verified, because many patients share them.
 */
function isOf(item: CalendarItem, nobodys: EventTexts, level: TitleLevel, patient?: PatientDetails): boolean {
  if (item.description !== nobodys.description || item.location !== nobodys.location) return false;
  if (level === 'initials' || item.title === nobodys.title) return true;
  return level === 'full' && patient !== undefined && isNamed(item.title, nobodys.title, patient);
}

/**
 * Returns whether a title is the title without a patient, with the patient's name instead of the word for an appointment, once or at each
 * occurrence.
 */
function isNamed(title: string, nobodys: string, { firstName, lastName }: PatientDetails): boolean {
  const whole = [firstName, lastName].map((part) => shownName(part ?? '')).join('');
  const [disclosed, plain, name] = [title, nobodys, whole].map(lettersOf) as [string, string, string];
  return APPOINTMENT_WORDS.map(lettersOf).some((word) => {
    const parts = plain.split(word);
    const named = (at: number) => parts.slice(0, at).join(word) + name + parts.slice(at).join(word);
    return disclosed === parts.join(name) || parts.some((_, at) => at > 0 && disclosed === named(at));
  });
}

function textsOf({ title, description, location }: EventTexts): (string | null)[] {
  return [title, description, location];
}

/** Fields of a patient that reveal a fact, with the names of mapping fields. */
const FIELDS: Readonly<Record<PatientFact, readonly string[]>> = {
  'first-name': ['firstName', 'fullName'],
  'last-name': ['lastName', 'fullName'],
  email: ['email'],
  phone: ['phone', 'mobilePhone'],
  'tax-code': ['taxCode'],
  'birth-date': ['birthDate'],
  address: ['address.street'],
};

/**
 * Checks an object in a CRM, of a patient or of a patient's record. A contact's name, email, telephone and tax code belong to the patient.
 * Only texts are checked: dates and numbers can equal the patient's by chance.
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

/** Returns whether properties copied from a patient equal the patient's fields. An empty property belongs to no patient. */
function isAsPatient(
  { properties }: CrmItem,
  patient: PatientDetails,
  { copies, phone }: Pick<Mapping, 'copies' | 'phone'>,
): boolean {
  return [...copies].every(([name, field]) => {
    const value = properties[name];
    if (typeof value !== 'string' || value === '') return true;
    if (field === 'phone' || field === 'mobilePhone') {
      const written = patient[field] ?? '';
      // A field can hold several numbers, or a zero for domestic calls, which the property has not.
      return [written, phone(written) ?? ''].some((own) => phoneDigitsOf(own) === phoneDigitsOf(value));
    }
    const { firstName, lastName } = patient;
    const own = field === 'fullName' ? [firstName, lastName].join('') : patient[field];
    return lettersOf(value) === lettersOf(own ?? '');
  });
}

function stopped(fact: PatientFact | 'other-person'): Decision {
  return { retain: `egress-${fact}`, stopsWriting: true };
}
