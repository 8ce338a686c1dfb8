import type { Appointment } from '../model/records.ts';
import type { SourceRecord } from './diff.ts';

/** Which appointments feed a target. */
export interface FeedRules {
  /** Ids of agendas. */
  agendas: 'all' | readonly string[];
  /** Ids of treatments; an appointment without one passes only `all`. */
  treatments: 'all' | readonly string[];
  /** Time that is blocked for no patient. */
  blockedTime: 'show' | 'hide';
}

/** What keeps an appointment out of a target; null when nothing does. */
export type Exclusion = 'agenda' | 'treatment' | 'blocked-time';

/** @returns the first rule that keeps the appointment out; blocked time has no treatment, so that rule does not ask for one */
export function exclusionOf(appointment: Appointment, rules: FeedRules): Exclusion | null {
  const { agendas, treatments, blockedTime } = rules;
  if (agendas !== 'all' && !agendas.includes(appointment.agendaId)) return 'agenda';
  if (appointment.patientId === null) return blockedTime === 'hide' ? 'blocked-time' : null;
  const { treatmentId } = appointment;
  const passes = treatments === 'all' || (treatmentId !== null && treatments.includes(treatmentId));
  return passes ? null : 'treatment';
}

/** An appointment as the comparison sees it. */
export function describeAppointment({ id, time, status }: Appointment): SourceRecord {
  return { id, startAt: time.startAt, endAt: time.endAt, isCancelled: status === 'cancelled' };
}
