import type { ClinicSandbox, TrueAppointment, TruePatient } from '../../../sandbox/clinic/index.ts';

/** A record of a CRM as both sides are compared: what is not there or empty is null. */
export type Values = Readonly<Record<string, string | null>>;

/** A record that a CRM should hold by the clinic's own data. */
export interface Wanted {
  /** By which the same thing is known on both sides: a contact's surname, an activity's time. */
  identity: string;
  /** Any of these is right: an address that only one family member can have, or a day that changed during the cycle. */
  alternatives: Values[];
}

/** What the contacts and activities of one tenant should be. */
export interface ExpectedState {
  contacts: Wanted[];
  activities: Wanted[];
  /** Addresses that several contacts share; one of the contacts must have each. */
  sharedAddresses: string[];
}

/** A CRM's rules for addresses. */
export interface AddressRules {
  /** Whether an address belongs to only one contact. */
  oneOwner: boolean;
  /** Addresses, in lower case, of contacts that users created. */
  ofStrangers: ReadonlySet<string>;
}

const LOCAL_DAY = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome' });
/** The clinic's statuses as the default profile translates them (docs/crm-mapping.md, appointments). */
const STATUSES: Readonly<Record<string, string>> = {
  Booked: 'booked',
  Confirmed: 'confirmed',
  CheckedIn: 'arrived',
  InProgress: 'in_progress',
  Completed: 'completed',
  NoShow: 'no_show',
};
const AHEAD = new Set(['Booked', 'Confirmed']);
const PRESENT = new Set(['CheckedIn', 'InProgress', 'Completed']);

/**
 * Returns the expected content of a CRM for a tenant, from the clinic's own data; uses no code of the product.
 * @param times epoch ms between which the cycle computed the future appointments
 */
export function expectedState(
  clinic: Pick<ClinicSandbox, 'appointments' | 'patients'>,
  tenantId: string,
  times: readonly number[],
  rules: AddressRules,
): ExpectedState {
  const visits = new Map<string, TrueAppointment[]>();
  for (const appointment of clinic.appointments(tenantId)) {
    const { patientId, deleted, waits, status } = appointment;
    if (patientId === null || deleted || waits === true || status === 'Cancelled') continue;
    visits.set(patientId, [...(visits.get(patientId) ?? []), appointment]);
  }
  const patients = [...clinic.patients(tenantId)].filter(({ details }) => details.consents.privacy?.granted === true);
  const owners = new Map<string, number>();
  for (const { email } of patients) if (email !== null) count(owners, email.toLowerCase());
  const sharedAddresses = [...owners].flatMap(([address, many]) =>
    rules.oneOwner && many > 1 && !rules.ofStrangers.has(address) ? [address] : [],
  );
  const shared = new Set(sharedAddresses);
  return {
    contacts: patients.map((patient) => contactOf(patient, visits.get(patient.id) ?? [], times, rules, shared)),
    activities: patients.flatMap((patient) =>
      (visits.get(patient.id) ?? []).map((visit) => activityOf(visit, patient.lastName)),
    ),
    sharedAddresses,
  };
}

function contactOf(
  patient: TruePatient,
  visits: readonly TrueAppointment[],
  times: readonly number[],
  rules: AddressRules,
  shared: ReadonlySet<string>,
): Wanted {
  const { firstName, lastName, details } = patient;
  const address = patient.email?.toLowerCase() ?? null;
  const isTaken = rules.oneOwner && address !== null && rules.ofStrangers.has(address);
  const addresses = isTaken ? [null] : address !== null && shared.has(address) ? [address, null] : [address];
  const days = [...new Set(times.map((at) => nextDayOf(visits, at)))];
  const phone = patient.phone?.replaceAll(' ', '') ?? null;
  const marketing = String(details.consents.marketing?.granted ?? false);
  const alternatives = addresses.flatMap((email) =>
    days.map((nextOn) => ({ firstName, lastName, email, phone, marketing, nextOn })),
  );
  return { identity: lastName, alternatives };
}

/** Returns the day of the next appointment (docs/crm-mapping.md): a patient who arrived before that day is still expected. */
function nextDayOf(visits: readonly TrueAppointment[], at: number): string | null {
  const today = LOCAL_DAY.format(at);
  const isAhead = ({ status, start }: TrueAppointment) =>
    start > at && (AHEAD.has(status) || (PRESENT.has(status) && LOCAL_DAY.format(start) > today));
  const starts = visits.filter(isAhead).map(({ start }) => start);
  return starts.length === 0 ? null : LOCAL_DAY.format(Math.min(...starts));
}

function activityOf({ start, end, status }: TrueAppointment, owner: string): Wanted {
  const [startAt, endAt] = [new Date(start).toISOString(), new Date(end).toISOString()];
  return { identity: timeOf(startAt, endAt), alternatives: [{ owner, status: STATUSES[status] ?? 'unknown' }] };
}

/** The identity of an activity. */
export function timeOf(startAt: string | null, endAt: string | null): string {
  return `${startAt}–${endAt}`;
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}
