import type { TrueAppointment, TruePatient } from '../../../sandbox/clinic/index.ts';
import type { StreamName } from '../../../src/core/model/items.ts';
import type { CrmRecord, CrmVendor } from './crm-vendors.ts';
import type { CrmWorld } from './crm-world.ts';

const DAY_MS = 86_400_000;
/** As the configuration's defaults have it. */
const PERIOD_DAYS = 365;
/** The windows of the targets. */
const PAST_DAYS = 60;
const LOCAL_DAY = new Intl.DateTimeFormat('sv-SE', { timeZone: 'Europe/Rome' });

type Values = CrmRecord['values'];

/** What a CRM should show by the clinic's own books, computed here again. */
export interface Expected {
  values: Values;
  /** Contact that owns the object; null for contacts. */
  contact: Values | null;
}

/** How a CRM stands against the clinic: what it lacks, and what it has too much, each as its values in one text. */
export interface CrmComparison {
  expected: number;
  found: number;
  missing: string[];
  surplus: string[];
}

/**
 * Compares a stream in a CRM with the books of the tenants' clinics, without code of the product.
 * @param asOf epoch ms at which values that depend on the time of day were computed
 */
export function compareCrm(
  world: CrmWorld,
  vendor: CrmVendor,
  stream: StreamName,
  asOf: number,
  tenants: readonly string[] = world.tenants.map(({ clinicId }) => clinicId),
): CrmComparison {
  const contacts = new Map(vendor.records('patients').map((contact) => [contact.id, contact.values]));
  const records = vendor.records(stream);
  const found = records.map(({ values, contactIds: [contactId = '', ...more] }): Expected => {
    if (more.length > 0) throw new Error('a record belongs to several contacts');
    return { values, contact: stream === 'patients' ? null : (contacts.get(contactId) ?? {}) };
  });
  const expected = tenants.flatMap((tenant) => expectedIn(world, tenant, stream, asOf));
  // HubSpot accepts an e-mail address on only one contact; any member of a family may have it.
  const addresses = vendor.name === 'hubspot' && stream === 'patients' ? addressFaults(expected, found) : [];
  const text = (one: Expected) => textOf(one, vendor);
  const [wanted, there] = [counted(expected.map(text)), counted(found.map(text))];
  return {
    expected: expected.length,
    found: found.length,
    missing: [...beyond(wanted, there), ...addresses],
    surplus: beyond(there, wanted),
  };
}

/** Result of a comparison if the CRM contains exactly the clinic's books. */
export const SAME = { missing: [], surplus: [] };

function addressFaults(expected: readonly Expected[], found: readonly Expected[]): string[] {
  const of = (list: readonly Expected[]) => list.flatMap(({ values }) => (values.email ?? []) as string[]);
  const [wanted, there] = [new Set(of(expected)), counted(of(found))];
  const lost = [...wanted].filter((address) => there.get(address) !== 1);
  const strange = [...there.keys()].filter((address) => !wanted.has(address));
  return [...lost, ...strange];
}

/** Equal texts, equal content. Salesforce has no empty checkbox. */
function textOf({ values, contact }: Expected, { name }: CrmVendor): string {
  const entries = Object.entries(values).map(([field, value]) => [
    field,
    field === 'newsletter' && name === 'salesforce' ? value === true : value,
  ]);
  const own = entries.filter(([field, value]) => value !== null && (name !== 'hubspot' || field !== 'email'));
  const owner = contact === null ? [] : [contact.firstName, contact.lastName, contact.phone];
  return JSON.stringify([own.sort(), owner]);
}

function counted(texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return counts;
}

function beyond(some: ReadonlyMap<string, number>, others: ReadonlyMap<string, number>): string[] {
  return [...some].flatMap(([text, count]) => {
    const more = count - (others.get(text) ?? 0);
    return more > 0 ? Array<string>(more).fill(text) : [];
  });
}

function expectedIn(world: CrmWorld, tenant: string, stream: StreamName, asOf: number): Expected[] {
  const { clinic } = world;
  const visitsOf = new Map<string, TrueAppointment[]>();
  for (const appointment of clinic.appointments(tenant)) {
    const { patientId, deleted, status } = appointment;
    if (patientId === null || deleted || status === 'Cancelled') continue;
    visitsOf.set(patientId, [...(visitsOf.get(patientId) ?? []), appointment]);
  }
  const patients = [...clinic.patients(tenant)].filter(({ details }) => details.consents.privacy?.granted === true);
  const contacts = new Map(
    patients.map((patient) => [patient.id, contactOf(patient, visitsOf.get(patient.id) ?? [], asOf)]),
  );
  switch (stream) {
    case 'patients':
      return [...contacts.values()].map((values) => ({ values, contact: null }));
    case 'appointments':
      return [...visitsOf].flatMap(([patientId, visits]) => {
        const contact = contacts.get(patientId);
        if (contact === undefined) return [];
        const inWindow = visits.filter(({ end }) => end > asOf - PAST_DAYS * DAY_MS);
        return inWindow.map((visit) => ({ values: activityOf(visit), contact }));
      });
    case 'invoices':
      return dealsIn(world, tenant, contacts);
  }
}

function contactOf(patient: TruePatient, visits: readonly TrueAppointment[], asOf: number): Values {
  const today = LOCAL_DAY.format(asOf);
  const firstDay = new Date(Date.parse(`${today}T00:00:00Z`) - PERIOD_DAYS * DAY_MS).toISOString().slice(0, 10);
  const isBooking = ({ status }: TrueAppointment) => status === 'Booked' || status === 'Confirmed';
  const isOver = ({ end }: TrueAppointment) => LOCAL_DAY.format(end - 1) < today;
  const took = visits.filter((visit) => {
    if (visit.status === 'NoShow' || LOCAL_DAY.format(visit.start) > today) return false;
    return isBooking(visit) ? isOver(visit) : true;
  });
  const next = visits.filter((visit) => isBooking(visit) && visit.start > asOf).map(({ start }) => start);
  const isExpected = visits.some((visit) => isBooking(visit) && !isOver(visit));
  return {
    firstName: patient.firstName,
    lastName: patient.lastName,
    email: patient.email,
    phone: patient.phone?.replaceAll(' ', '') ?? null,
    newsletter: patient.details.consents.marketing?.granted ?? null,
    visits: took.filter(({ start }) => LOCAL_DAY.format(start) >= firstDay).length,
    nextOn: next.length === 0 ? null : LOCAL_DAY.format(Math.min(...next)),
    standing: took.length > 0 ? 'active' : isExpected ? 'new' : 'lapsed',
  };
}

const WORDS: Readonly<Record<string, string>> = {
  Booked: 'booked',
  Confirmed: 'confirmed',
  CheckedIn: 'arrived',
  InProgress: 'in_progress',
  Completed: 'completed',
  NoShow: 'no_show',
};

function activityOf({ start, end, status }: TrueAppointment): Values {
  return {
    title: 'Appointment',
    startAt: new Date(start).toISOString(),
    endAt: new Date(end).toISOString(),
    status: WORDS[status] ?? 'unknown',
  };
}

function dealsIn({ clinic }: CrmWorld, tenant: string, contacts: ReadonlyMap<string, Values>): Expected[] {
  const practices = new Map(
    [...clinic.episodes(tenant)].flatMap((episode) =>
      episode.practices.map((practice) => [`${episode.id}/${practice.practiceId}`, practice.doctors] as const),
    ),
  );
  return [...clinic.invoices(tenant)].flatMap(({ patientId, status, number, issueDate, totalAmount, Items }) => {
    const contact = contacts.get(patientId);
    if (contact === undefined || status === 'Cancelled') return [];
    const links = Items.flatMap(({ LinkedPractices }) => LinkedPractices ?? []);
    const doctors = links.flatMap(({ episodeId, practiceId }) => practices.get(`${episodeId}/${practiceId}`) ?? []);
    const names = [...new Set(doctors.map(({ firstName, lastName }) => `${firstName} ${lastName}`))];
    const values = { name: number, date: issueDate, amount: totalAmount, doctors: names.join(', ') || null };
    return [{ values, contact }];
  });
}
