import type { Appointment } from '../../core/model/records.ts';
import { type LedgerEntry, type PlannedReminder, WITHDRAWALS, type WrongReason } from '../../core/model/reminders.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { quietSpanAt } from './due.ts';
import type { OpenReminders } from './ports.ts';
import { cancellationExclusion, type ReminderRule, reminderExclusion } from './rules.ts';
import { correctionOf, type MessageTruth, type Truth, visitOf } from './told.ts';

/** A reminder of the new time due within this time replaces the correction, and the reverse. Project choice. */
const SOON_MS = 4 * HOUR_MS;

/** Time before the announced start in which a cancellation waits for no new appointment. Project choice: the patient may be on the way. */
const URGENT_MS = 2 * HOUR_MS;

type False = Extract<MessageTruth, { is: 'false' }>;

/** Correction of a false message: a due message, or none with a reason. */
type Remedy =
  | { due: PlannedReminder | LedgerEntry; isPlanned: boolean }
  | { waitsUntilAt: Instant }
  | { reason: WrongReason };

/**
 * Returns the remedy of a false message.
 * @param since first cycle that found the message false
 */
export function remedyFor(
  reminders: OpenReminders,
  { own, stand, truth, since }: { own: readonly LedgerEntry[]; stand: False; truth: Truth | null; since: Instant },
  now: Instant,
): Remedy {
  const { last, kind, isUnclear, isSamePatient } = stand;
  const rebooksUntilAt = rebooksUntil(reminders, last, truth === null ? since : now);
  if (truth === null) return rebooksUntilAt > now ? { waitsUntilAt: rebooksUntilAt } : { reason: 'vanished' };
  if (!isSamePatient) return { reason: 'other-patient' };
  if (isUnclear) return { reason: 'unclear' };
  const { startAt, zone } = statedBy(stand, truth);
  const readyAt = kind === 'cancelled' ? rebooksUntilAt : now;
  const dueAt = quietSpanAt(readyAt, reminders.rules.quiet, zone)?.toAt ?? readyAt;
  // Only the correction tells that an appointment with another id replaces the announced one.
  const reminder = kind === 'moved' && !stand.isReplaced ? reminderSoon(own, last, truth, { now, dueAt }) : undefined;
  if (reminder !== undefined) return { waitsUntilAt: reminder.dueAt };
  const rule = ruleFor(reminders, last, kind, truth.appointment);
  if (rule === undefined) return { reason: 'rule-none' };
  if (!rule.corrections[kind === 'cancelled' ? 'cancelled' : 'moved']) return { reason: 'corrections-off' };
  const id = keyOf(reminders, stand, truth, rule.id);
  const existing = own.find((entry) => entry.id === id);
  if (existing?.state === 'planned') return { due: existing, isPlanned: false };
  if (existing?.state === 'unknown') return { reason: 'unclear' };
  if (existing?.state === 'dropped' && !WITHDRAWALS.some((one) => one === existing.reason)) {
    return { reason: existing.reason ?? 'refused' };
  }
  if (dueAt >= startAt) return { reason: 'quiet-hours' };
  const key = { appointmentId: visitOf(last), startAt, rule: rule.id, channel: last.channel };
  return {
    due: { ...key, correction: correctionOf(stand, truth, reminders.proofs), id, dueAt, zone },
    isPlanned: true,
  };
}

/** Returns the start in a correction: for a cancelled appointment, the announced start. */
function statedBy({ kind, last }: False, { appointment, zone }: Truth): { startAt: Instant; zone: string } {
  return kind === 'cancelled' ? last : { startAt: appointment.time.startAt, zone };
}

/** Returns the unique name of the correction of a fact. */
export function keyOf({ name, proofs }: OpenReminders, stand: False, truth: Truth, rule: string): string {
  const { channel } = stand.last;
  const appointmentId = visitOf(stand.last);
  const { startAt } = statedBy(stand, truth);
  return name({ appointmentId, startAt, rule, channel, correction: correctionOf(stand, truth, proofs) });
}

/** Returns a reminder of the true time that is due before the announced start, or no later than a correction. */
function reminderSoon(
  own: readonly LedgerEntry[],
  last: LedgerEntry,
  { appointment }: Truth,
  { now, dueAt: correctionDueAt }: { now: Instant; dueAt: Instant },
): LedgerEntry | undefined {
  const latestAt = Math.max(correctionDueAt, Math.min(now + SOON_MS, last.startAt - HOUR_MS));
  return own.find(
    ({ state, correction, startAt, dueAt }) =>
      state === 'planned' && correction === null && startAt === appointment.time.startAt && dueAt <= latestAt,
  );
}

/** Returns the rule of a correction: the rule of the last message, or a rule for an equal channel that includes the appointment. */
function ruleFor(
  { rules: { rules }, channels }: OpenReminders,
  { rule, channel }: LedgerEntry,
  kind: False['kind'],
  appointment: Appointment,
): ReminderRule | undefined {
  if (!channels.has(channel)) return undefined;
  const exclusion = kind === 'cancelled' ? cancellationExclusion : reminderExclusion;
  const own = [...rules.values()].sort((one, other) => Number(other.id === rule) - Number(one.id === rule));
  return own.find((each) => each.channels.includes(channel) && exclusion(appointment, each) === null);
}

/**
 * Returns until when a cancellation waits for a new appointment that replaces the cancelled one: `from` itself if the wait would end less
 * than two hours before the announced start.
 */
function rebooksUntil({ file }: OpenReminders, { startAt }: LedgerEntry, from: Instant): Instant {
  const untilAt = from + file.rescheduleWithinMinutes * MINUTE_MS;
  return untilAt <= startAt - URGENT_MS ? untilAt : from;
}

/** Returns whether a correction tells the same time as a reminder: due now, or sent in the last hours. */
export function isCoveredByCorrection(
  { startAt, channel }: LedgerEntry,
  own: readonly LedgerEntry[],
  now: Instant,
): boolean {
  return own.some((one) => {
    if (one.correction?.kind !== 'moved' || one.startAt !== startAt || one.channel !== channel) return false;
    if (one.state === 'sent') return (one.finishedAt ?? 0) > now - SOON_MS;
    return one.state === 'sending' || (one.state === 'planned' && one.dueAt <= now);
  });
}
