import type { Appointment } from '../../model/records.ts';
import type { TimeWindow } from '../../model/time.ts';
import type { AppointmentEvent, StoredAppointment, TriggerEvent } from '../../model/triggers.ts';

/** How an appointment is now, and what that is to receivers; a null event is nothing. */
export interface AppointmentChange {
  now: StoredAppointment;
  event: AppointmentEvent | null;
}

/** Whether an event tells of a change, and not of a document. */
export function isAppointmentEvent(event: TriggerEvent): event is AppointmentEvent {
  return event.startsWith('appointment.');
}

/**
 * Compares an appointment with how it was. It stands while it is booked for a patient and not cancelled: blocked time is none. What else
 * changes than time and agenda is nothing to receivers.
 * @param stored null for one that no reading saw standing
 * @returns null for one that needn't be known, since it never stood
 */
export function changeOf(stored: StoredAppointment | null, appointment: Appointment): AppointmentChange | null {
  const { id, agendaId, patientId, status } = appointment;
  const { startAt, endAt } = appointment.time;
  const isActive = status !== 'cancelled' && patientId !== null;
  if (stored === null && !isActive) return null;
  const event = eventOf(stored, { agendaId, startAt, endAt, stands: isActive });
  const before = stored?.sequence ?? 0;
  const sequence = event === null ? before : before + 1;
  return { now: { recordId: id, agendaId, startAt, endAt, stands: isActive, sequence, missedAt: null }, event };
}

/** A row that was there at first and could not be used: nothing is said of it when it can. @param window of the reading */
export function unusableAtFirst(recordId: string, { fromAt, toAt }: TimeWindow): StoredAppointment {
  return { recordId, agendaId: null, startAt: fromAt, endAt: toAt, stands: false, sequence: 0, missedAt: null };
}

/** The clinic has no such appointment any more. It stays known, so that it is a later change when it comes back. */
export function vanished(stored: StoredAppointment): AppointmentChange {
  const sequence = stored.sequence + 1;
  return { now: { ...stored, stands: false, sequence, missedAt: null }, event: 'appointment.cancelled' };
}

/** What makes a change that one, among all of its appointment. */
export function changeName({ sequence, agendaId, startAt, endAt }: StoredAppointment): string {
  return JSON.stringify([sequence, agendaId, startAt, endAt]);
}

type AppointmentState = Pick<StoredAppointment, 'agendaId' | 'startAt' | 'endAt' | 'stands'>;

function eventOf(before: AppointmentState | null, now: AppointmentState): AppointmentEvent | null {
  if (before?.agendaId === null) return null;
  if (before?.stands !== true) return now.stands ? 'appointment.booked' : null;
  if (!now.stands) return 'appointment.cancelled';
  const isMoved = before.agendaId !== now.agendaId || before.startAt !== now.startAt || before.endAt !== now.endAt;
  return isMoved ? 'appointment.moved' : null;
}
