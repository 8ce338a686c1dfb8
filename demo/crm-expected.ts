import type { ClinicSandbox, TrueAppointment, TruePatient } from '../sandbox/clinic/index.ts';
import type { Comparison } from './comparison.ts';
import type { CrmOwner } from './crm.ts';

/** Content of a record, with the demo's own field names. */
export type Values = Readonly<Record<string, string | number | boolean | null>>;

/** What a CRM should hold of a clinic. */
export interface ExpectedState {
  contacts: Values[];
  visits: Values[];
}

/** For the targets' `crm.derived`: longer than the past that the demo's clinics have, and soon read. */
export const DERIVED = { historyDays: 60, periodDays: 60, lapsedAfterDays: 60 };

const LOCAL_DAY = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome' });
const BOOKINGS = new Set(['Booked', 'Confirmed']);
const ATTENDED = new Set(['CheckedIn', 'InProgress', 'Completed']);
/** The product's words (docs/crm-mapping.md, appointments). */
const WORDS: Readonly<Record<string, string>> = {
  Booked: 'booked',
  Confirmed: 'confirmed',
  CheckedIn: 'arrived',
  InProgress: 'in_progress',
  Completed: 'completed',
  NoShow: 'no_show',
};

/** Computes the expected CRM content for patients with a consent, from the clinic's own data and without the product's code. */
export function expectedState({ clinic, clinicId }: CrmOwner, consent: string, asOf: number): ExpectedState {
  const visitsOf = visitsByPatient(clinic, clinicId);
  const expected: ExpectedState = { contacts: [], visits: [] };
  for (const patient of clinic.patients(clinicId)) {
    if (patient.details.consents[consent]?.granted !== true) continue;
    const visits = visitsOf.get(patient.id) ?? [];
    expected.contacts.push({ ...personOf(patient), ...computed(visits, asOf) });
    const contact = contactName(patient.firstName, patient.lastName, patient.phone);
    for (const { start, end, status } of visits) {
      expected.visits.push({ contact, start, end, status: WORDS[status] ?? 'unknown' });
    }
  }
  return expected;
}

/** Returns a contact's name as shown in a visit. */
export function contactName(firstName: string, lastName: string, phone: string | null): string {
  return [firstName, lastName, digits(phone)].join(' ');
}

/** Returns a phone number without separators. */
export function digits(phone: string | null): string | null {
  return phone === null ? null : phone.replaceAll(/[^+\d]/g, '');
}

/** Compares records as wholes: one that differs in a value is missing on one side and surplus on the other. */
export function compareValues(wanted: readonly Values[], found: readonly Values[]): Comparison {
  const [shouldBe, is] = [counted(wanted), counted(found)];
  return {
    records: wanted.length,
    remoteEvents: found.length,
    duplicates: beyond(is, shouldBe),
    missing: beyond(shouldBe, is),
  };
}

function visitsByPatient(clinic: ClinicSandbox, clinicId: string): Map<string, TrueAppointment[]> {
  const visits = new Map<string, TrueAppointment[]>();
  for (const appointment of clinic.appointments(clinicId)) {
    const { patientId, deleted, status } = appointment;
    if (patientId === null || deleted || status === 'Cancelled') continue;
    const known = visits.get(patientId);
    if (known === undefined) visits.set(patientId, [appointment]);
    else known.push(appointment);
  }
  return visits;
}

function personOf({ firstName, lastName, email, phone, details }: TruePatient): Values {
  const newsletter = details.consents.marketing?.granted ?? null;
  return { firstName, lastName, email, phone: digits(phone), newsletter };
}

/** As docs/crm-mapping.md defines them; nothing lies before {@link DERIVED}. */
function computed(visits: readonly TrueAppointment[], asOf: number): Values {
  const today = LOCAL_DAY.format(asOf);
  const isOver = ({ end }: TrueAppointment) => LOCAL_DAY.format(end - 1) < today;
  const hasCome = ({ start }: TrueAppointment) => LOCAL_DAY.format(start) <= today;
  const isBooking = ({ status }: TrueAppointment) => BOOKINGS.has(status);
  const attended = ({ status }: TrueAppointment) => ATTENDED.has(status);
  const took = visits.filter((visit) => (isBooking(visit) ? isOver(visit) : attended(visit) && hasCome(visit)));
  const ahead = visits.filter((visit) => (isBooking(visit) ? !isOver(visit) : attended(visit) && !hasCome(visit)));
  const next = ahead.map(({ start }) => start).filter((start) => start > asOf);
  return {
    visits: took.length,
    nextVisit: next.length === 0 ? null : LOCAL_DAY.format(Math.min(...next)),
    standing: took.length > 0 ? 'active' : ahead.length > 0 ? 'new' : 'lapsed',
  };
}

function counted(records: readonly Values[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const record of records) {
    const text = JSON.stringify(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)));
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }
  return counts;
}

function beyond(some: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>): number {
  let sum = 0;
  for (const [text, count] of some) sum += Math.max(0, count - (others.get(text) ?? 0));
  return sum;
}
