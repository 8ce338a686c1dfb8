import type { CalendarItem, CrmItem } from '../model/items.ts';
import type { ItemKey } from '../model/operations.ts';
import type { FactSearch, KnownPatient, PatientFact } from '../model/patient-facts.ts';
import type { Appointment } from '../model/records.ts';
import type { TargetSetup } from './cycle-input.ts';
import type { Decision } from './diff.ts';
import { type Directory, type ProjectionPolicy, project } from './project.ts';

/**
 * Looks at what would leave, once more and by other means than it was made: whatever tells of the patient what the target's policy or mapping
 * does not allow is a defect of ours, and stays here. This is the last place where the patient is known: beyond it there are items alone.
 */

/**
 * The decision that an event for an appointment is; the object stays as it is when the event would tell too much. Words that an event for
 * nobody would have too, as those of a location that is called as the patient is, are not told of the patient.
 */
export function checkedEvent(
  item: CalendarItem,
  appointment: Appointment,
  policy: ProjectionPolicy,
  directory: Directory,
  key: () => ItemKey,
  facts: FactSearch,
): Decision {
  const patient = appointment.patient ?? directory.patients.get(appointment.patientId ?? '');
  if (patient === undefined || policy.title === 'full') return { item };
  const told = facts.toldIn(patient, {
    texts: textsOf(item),
    mayTell: () => false,
    own: () => textsOf(project({ ...appointment, patient: null }, policy, { ...directory, patients: new Map() }, key)),
  });
  return told === null ? { item } : stopped(told);
}

function textsOf(item: CalendarItem | null): (string | null)[] {
  return item === null ? [] : [item.title, item.description, item.location];
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
 * The same of an object in a CRM, of a patient or of one of theirs. Texts alone are looked at: dates and numbers of other things may be the
 * patient's by chance.
 * @param others texts of the clinic from which properties may be made
 */
export function checkedObject(
  item: CrmItem,
  patient: KnownPatient,
  { crm, stream }: Pick<TargetSetup, 'crm' | 'stream'>,
  others: readonly (string | null)[],
  facts: FactSearch,
): Decision {
  if (crm === null) return { item };
  const { properties, tells } = crm.mapping;
  const told = facts.toldIn(patient, {
    texts: properties.flatMap(({ name, kind }) => {
      const value = item.properties[name];
      return kind === 'text' && typeof value === 'string' ? [value] : [];
    }),
    mayTell: (fact) => stream === 'patients' && FIELDS[fact].some(tells.field),
    own: () => [...others, ...tells.texts],
  });
  return told === null ? { item } : stopped(told);
}

function stopped(fact: PatientFact): Decision {
  return { retain: `egress-${fact}`, stopsWriting: true };
}

/** Of the records that a plan leaves as they are, those that would have told too much: how many, by code. */
export function egressStopped(leftOut: Readonly<Record<string, number>>): [code: string, count: number][] {
  return Object.entries(leftOut).filter(([code]) => code.startsWith('egress-'));
}
