import type { Appointment, Patient } from '../../model/records.ts';
import type { DropReason, LedgerEntry, Withdrawal } from '../../model/reminders.ts';
import type { Lookup } from '../../model/snapshots.ts';
import { DAY_MS, type Instant } from '../../model/time.ts';
import { type QuietHours, quietSpanAt } from './due.ts';
import { cancellationExclusion, type ReminderRule, reminderExclusion } from './rules.ts';

/** What is done about a reminder now. */
export type SendDecision = { do: 'send' } | { do: 'wait'; untilAt: Instant } | { do: 'drop'; reason: DropReason };

const SEND: SendDecision = { do: 'send' };
const drop = (reason: DropReason): SendDecision => ({ do: 'drop', reason });

/** After this instant a reminder is not sent any more. A correction is worth sending until the appointment begins, for a day. */
export function deadlineOf(
  { dueAt, startAt, correction }: Pick<LedgerEntry, 'dueAt' | 'startAt' | 'correction'>,
  rule: ReminderRule,
): Instant {
  if (correction !== null) return Math.min(dueAt + DAY_MS, startAt - 1);
  return Math.min(dueAt + rule.graceMs, startAt - rule.minimumLeadMs);
}

/** Whether it is the time to send: not before it is due, not after the grace, not at night. */
export function decideByTime(entry: LedgerEntry, rule: ReminderRule, quiet: QuietHours, now: Instant): SendDecision {
  if (now < entry.dueAt) return { do: 'wait', untilAt: entry.dueAt };
  const deadlineAt = deadlineOf(entry, rule);
  if (now > deadlineAt) return drop('too-late');
  const night = quietSpanAt(now, quiet, entry.zone);
  if (night === null) return SEND;
  return night.toAt <= deadlineAt ? { do: 'wait', untilAt: night.toAt } : drop('quiet-hours');
}

/** Whether the clinic still means the appointment as the reminder does. */
export function decideByAppointment(entry: LedgerEntry, rule: ReminderRule, answer: Lookup<Appointment>): SendDecision {
  if ('absent' in answer) return drop('vanished');
  if ('setAside' in answer) return drop('unusable');
  const { found } = answer;
  if (entry.correction?.kind === 'cancelled') {
    if (found.status !== 'cancelled') return drop('moved');
    return cancellationExclusion(found, rule) === null ? SEND : drop('excluded');
  }
  if (found.time.startAt !== entry.startAt) return drop('moved');
  if (found.status === 'cancelled') return drop('cancelled');
  if (['arrived', 'in_progress', 'completed', 'no_show'].includes(found.status)) return drop('arrived');
  return reminderExclusion(found, rule) === null ? SEND : drop('excluded');
}

/** Whether the patient may be written to. @param consent name of what must have been agreed to; null when nothing */
export function decideByPatient(answer: Lookup<Patient>, consent: string | null): SendDecision {
  if ('absent' in answer || ('found' in answer && !answer.found.isActive)) return drop('patient-gone');
  if ('setAside' in answer) return drop('unusable');
  return consent === null || answer.found.consents[consent] === true ? SEND : drop('no-consent');
}

/** Why a planned reminder of an appointment is not wanted any more. */
export function withdrawalOf(entry: Pick<LedgerEntry, 'startAt'>, appointment: Appointment): Withdrawal {
  if (appointment.status === 'cancelled') return 'cancelled';
  return appointment.time.startAt === entry.startAt ? 'excluded' : 'moved';
}
