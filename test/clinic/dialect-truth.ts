import { APPOINTMENT_STATUSES, type AppointmentStatus } from '../../src/core/model/records.ts';

/** An appointment before translation; every dialect renders the same ones in its own form. */
export interface TrueAppointment {
  id: string;
  agendaId: string;
  patientId: string | null;
  treatmentId: string | null;
  /** Local time in Rome, or a date for a whole day (with `end` exclusive). */
  start: string;
  end: string;
  status: AppointmentStatus;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** From 1 March to 10 May 2026: more than two months, with the change to summer time in it. */
export const WINDOW = {
  fromAt: Date.parse('2026-03-01T00:00:00+01:00'),
  toAt: Date.parse('2026-05-10T00:00:00+02:00'),
};

export const AGENDAS = ['1', '2', '3'].map((id) => ({
  id,
  name: `Agenda ${id}`,
  locationId: '9',
  isActive: id !== '3',
}));
export const PATIENTS = Array.from({ length: 30 }, (_, index) => ({
  id: String(100 + index),
  firstName: `Nome${index}`,
  lastName: `Cognome${index}`,
}));

/** Two a day in the window, some before and after it, one across its start, whole days, blocked time, every status. */
export const APPOINTMENTS: TrueAppointment[] = [
  ...Array.from({ length: 150 }, (_, index) => timed(index)),
  { ...timed(0), id: '2001', start: '2026-02-28T23:30:00', end: '2026-03-01T00:30:00' },
  { ...timed(0), id: '2002', start: '2026-03-29T01:30:00', end: '2026-03-29T03:30:00' },
  { ...wholeDay('3001'), start: '2026-03-29', end: '2026-03-30' },
  { ...wholeDay('3002'), start: '2026-04-06', end: '2026-04-11' },
].sort((a, b) => (a.start === b.start ? a.id.localeCompare(b.id) : a.start.localeCompare(b.start)));

function timed(index: number): TrueAppointment {
  const start = Date.UTC(2026, 1, 26, 9) + Math.floor(index / 2) * DAY_MS + (index % 2) * HOUR_MS;
  return {
    id: String(1000 + index),
    agendaId: String((index % 3) + 1),
    patientId: index % 10 === 0 ? null : String(100 + (index % 30)),
    treatmentId: index % 10 === 0 ? null : '50',
    start: new Date(start).toISOString().slice(0, 19),
    end: new Date(start + HOUR_MS / 2).toISOString().slice(0, 19),
    status: APPOINTMENT_STATUSES[index % APPOINTMENT_STATUSES.length] ?? 'booked',
  };
}

function wholeDay(id: string): Omit<TrueAppointment, 'start' | 'end'> {
  return { id, agendaId: '2', patientId: null, treatmentId: null, status: 'booked' };
}

/** The instant of a local time or date in Rome in spring 2026, by the law: summer time begins on 29 March at 02:00. */
export function instantOf(local: string): number {
  const time = local.length === 10 ? `${local}T00:00:00` : local;
  return Date.parse(`${time}${time < '2026-03-29T02:00:00' ? '+01:00' : '+02:00'}`);
}

/** Local time with its offset. */
export function withOffset(local: string): string {
  return `${local}${local < '2026-03-29T02:00:00' ? '+01:00' : '+02:00'}`;
}

/** Whether an appointment overlaps a span of instants. */
export function overlaps(appointment: TrueAppointment, fromAt: number, toAt: number): boolean {
  return instantOf(appointment.start) < toAt && instantOf(appointment.end) > fromAt;
}

/** What a reading should hold. */
export function expectedRecords(agendaIds: string[] | null, hidden: AppointmentStatus[] = []): TrueAppointment[] {
  return APPOINTMENTS.filter(
    (appointment) =>
      overlaps(appointment, WINDOW.fromAt, WINDOW.toAt) &&
      (agendaIds === null || agendaIds.includes(appointment.agendaId)) &&
      !hidden.includes(appointment.status),
  );
}
