import fc from 'fast-check';
import { addDays, createZone, type Zone } from '../../../sandbox/clinic/data/zone.ts';
import type { AppointmentStatus } from '../../../src/core/model/records.ts';
import { FLAGS, type Form, STATUS_VALUES } from './form.ts';
import { isBuried } from './row-form.ts';

/** An appointment independent of any form. Times are local in the form's zone. */
export interface MeantAppointment {
  id: string;
  agendaId: string;
  patientId: string | null;
  firstName: string | null;
  /** Local date, `YYYY-MM-DD`. */
  date: string;
  /** Minutes from local midnight; null: whole days. */
  minute: number | null;
  /** Minutes that it lasts, of whole days the days. */
  length: number;
  status: AppointmentStatus;
  /** Epoch ms; null: not told. */
  updatedAt: number | null;
  /** Only a tombstone reports the record. */
  isGone?: boolean;
}

/** A patient independent of any form. */
export interface MeantPatient {
  id: string;
  firstName: string | null;
  lastName: string;
  email: string | null;
  /** Digits. */
  phone: string | null;
  isGone?: boolean;
  birthDate: string | null;
  isActive: boolean;
  agreesToMail: boolean | null;
}

/** Records of a clinic. Ids are digits; a form encodes them. */
export interface Meant {
  appointments: MeantAppointment[];
  patients: MeantPatient[];
}

export const AGENDA_IDS = ['11', '12', '13'];
/** Around changes of the clocks in spring: New York's on 8 March, Rome's on the 29th. */
const FIRST_DATE = '2026-03-01';
const DAYS = 60;

const status = fc.constantFrom<AppointmentStatus>(
  'booked',
  'confirmed',
  'arrived',
  'in_progress',
  'completed',
  'cancelled',
  'no_show',
  'unknown',
);

const appointment: fc.Arbitrary<Omit<MeantAppointment, 'id'>> = fc.record({
  agendaId: fc.constantFrom(...AGENDA_IDS),
  patientId: fc.option(fc.integer({ min: 100, max: 130 }).map(String)),
  firstName: fc.option(fc.constantFrom('Anna', 'Bruno', 'Zoë')),
  date: fc.integer({ min: 0, max: DAYS - 1 }).map((day) => addDays(FIRST_DATE, day)),
  minute: fc.option(
    fc.integer({ min: 6 * 12, max: 20 * 12 }).map((step) => step * 5),
    { freq: 8 },
  ),
  length: fc.integer({ min: 1, max: 40 }).map((step) => step * 5),
  status,
  updatedAt: fc.option(
    fc.integer({ min: 0, max: 1_000 }).map((step) => Date.parse('2026-01-10T08:00:00Z') + step * 180_000),
  ),
});

/** Family names; if a name is one field, each appointment has one of these too. */
export const LAST_NAMES = ['Bianchi', 'De Luca', "D'Angelo", 'van der Berg', 'Rossi Bianchi'] as const;

const patient: fc.Arbitrary<Omit<MeantPatient, 'id'>> = fc.record({
  firstName: fc.option(fc.constantFrom('Anna', 'Anna Maria', 'Zoë')),
  lastName: fc.constantFrom(...LAST_NAMES),
  email: fc.option(fc.constantFrom('a@example.test', 'b.c@example.test')),
  phone: fc.option(fc.integer({ min: 3_900_000_000, max: 3_999_999_999 }).map(String)),
  birthDate: fc.option(fc.integer({ min: -9_000, max: 20_000 }).map((day) => addDays('1970-01-01', day))),
  isActive: fc.boolean(),
  agreesToMail: fc.option(fc.boolean()),
});

/** Arbitrary contents of a clinic. */
export const anyMeant: fc.Arbitrary<Meant> = fc
  .record({ appointments: fc.array(appointment, { maxLength: 40 }), patients: fc.array(patient, { maxLength: 25 }) })
  .map(({ appointments, patients }) => ({
    appointments: appointments.map((one, index) => ({ ...one, id: String(1_000 + index) })),
    patients: patients.map((one, index) => ({ ...one, id: String(100 + index) })),
  }));

/** Reduces the contents to those a form can express: some forms lack a word for a status, or an end of whole days. */
export function tellable(form: Form, { appointments, patients }: Meant): Meant {
  return {
    patients: patients.map((one) => ({ ...one, isGone: isBuried(form, one.id) })),
    appointments: appointments.map((one) => {
      const hasLastDay = form.end === 'end' && form.apart?.isShared !== true;
      const length = one.minute !== null ? one.length : hasLastDay ? 1 + (one.length % 3) : 1;
      const isGone = one.isGone || isBuried(form, one.id);
      return { ...one, isGone, length, status: hasStatus(form, one.status) ? one.status : 'booked' };
    }),
  };
}

function hasStatus({ status: form }: Form, wanted: AppointmentStatus): boolean {
  if (isFlags(form)) return wanted === 'booked' || FLAGS.some(([, status]) => status === wanted);
  return STATUS_VALUES[form as keyof typeof STATUS_VALUES][wanted] !== undefined;
}

/** Whether statuses are flags. */
export function isFlags(form: Form['status']): boolean {
  return form.startsWith('flags');
}

const zones = new Map<string, Zone>();

/** Local time of the clinic, computed by a library that the product does not use. */
export function zoneOf(name: string): Zone {
  const zone = zones.get(name) ?? createZone(name);
  zones.set(name, zone);
  return zone;
}

/** Begin and end of an appointment in epoch ms. */
export function spanOf(
  { date, minute, length }: MeantAppointment,
  zoneName: string,
): { startAt: number; endAt: number } {
  const zone = zoneOf(zoneName);
  if (minute === null) return { startAt: zone.startOfDay(date), endAt: zone.startOfDay(addDays(date, length)) };
  const startAt = zone.at(date, Math.floor(minute / 60), minute % 60);
  return { startAt, endAt: startAt + length * 60_000 };
}
