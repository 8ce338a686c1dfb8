import { type Appointment, belongsTo, type Invoice, type Patient } from '../core/model/records.ts';
import type { AppointmentSnapshot } from '../core/model/snapshots.ts';
import { type Instant, SECOND_MS } from '../core/model/time.ts';
import type { Confirmation } from '../engine/absence.ts';

/** Results of fetching absent records individually, by stream. */
export type Confirmations = {
  appointments: Confirmation<Appointment>;
  patients: Confirmation<Patient>;
  invoices: Confirmation<Invoice>;
};

/** Statuses that lists of current appointments often omit. */
const CLOSED: ReadonlySet<Appointment['status']> = new Set(['cancelled', 'completed', 'no_show']);
/** Statuses of invoices that lists often omit. */
const UNISSUED: ReadonlySet<string | null> = new Set(['Cancelled', 'Draft']);

/**
 * Returns whether a complete list of appointments must show an individually fetched record. The record must be open, inside the list's
 * window and agendas, and unchanged since before the list read. A record that moved or changed meanwhile proves nothing.
 * @param startsBefore start of the record as known to targets and reminders
 */
export function belongsOnList(
  appointment: Appointment,
  { window, agendaIds }: Pick<AppointmentSnapshot, 'window' | 'agendaIds'>,
  { startsBefore, readAt }: { startsBefore: readonly Instant[]; readAt: Instant },
): boolean {
  const { status, time, updatedAt } = appointment;
  const isInside = time.startAt >= window.fromAt && time.endAt <= window.toAt;
  const isOfAgendas = belongsTo(appointment, agendaIds ?? 'all') === true;
  const isUnmoved = startsBefore.some((startAt) => Math.abs(startAt - time.startAt) < SECOND_MS);
  return !CLOSED.has(status) && isInside && isOfAgendas && isUnmoved && isOlder(updatedAt, readAt);
}

/** Returns whether a complete list of patients must show the patient. Lists often omit inactive patients. */
export function patientBelongsOnList({ isActive, updatedAt }: Patient, readAt: Instant): boolean {
  return isActive && isOlder(updatedAt, readAt);
}

/** Returns whether a complete list of invoices must show the invoice. */
export function invoiceBelongsOnList({ status }: Invoice): boolean {
  return !UNISSUED.has(status);
}

function isOlder(updatedAt: Instant | null, readAt: Instant): boolean {
  return updatedAt === null || updatedAt < readAt;
}
