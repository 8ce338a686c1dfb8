import type { MirrorError } from '../../core/model/errors.ts';
import type { DropReason, LedgerEntry } from '../../core/model/reminders.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import type { OpenReminders } from './ports.ts';
import { deadlineOf, PATIENT_INACTIVE, type ReminderRule, type SendDecision } from './rules.ts';
import type { ReminderSettlement } from './store.ts';

/** Delay between queries of an unreachable clinic. */
export const SOURCE_RETRY_MS = MINUTE_MS;
/** Time without a further change after which a correction leaves in spite of the limit. Project choice: a desk that moves a visit is done by then. */
const STILL_MS = 10 * MINUTE_MS;
const HOURLY_LIMIT = 'hourly-limit';

/** Result of processing a reminder. */
export type Step =
  | { finish: ReminderSettlement }
  /** @property notSent certainly not delivered */
  | { wakeAt: Instant; code: string | null; notSent: boolean };

/** Converts a decision before delivery. */
export function stepOf(decision: Exclude<SendDecision, { do: 'send' }>): Step {
  return decision.do === 'drop'
    ? dropped(decision.reason, decision.code ?? null)
    : { wakeAt: decision.untilAt, code: null, notSent: true };
}

/** Repeats the clinic query until the reminder's deadline. */
export function sourceStep(
  { code, retryAfterMs }: MirrorError,
  dueAt: Instant,
  { file }: OpenReminders,
  now: Instant,
): Step {
  const wakeAt = now + Math.max(SOURCE_RETRY_MS, retryAfterMs ?? 0);
  if (wakeAt > dueAt + file.unreachableMinutes * MINUTE_MS) return dropped('source-unreachable', code);
  return { wakeAt, code, notSent: true };
}

/**
 * Returns the time at which a correction is sent in spite of the limit of its recipient, because the facts did not change for ten minutes.
 * @returns null for a reminder, after that time, or if the appointment would begin too soon
 */
export function stillAt(entry: LedgerEntry, rule: ReminderRule, now: Instant): Instant | null {
  const at = Math.max(entry.dueAt, entry.plannedAt) + STILL_MS;
  const latestAt = deadlineOf(entry, rule) - 3 * STILL_MS;
  return entry.correction !== null && now < at && at <= latestAt ? at : null;
}

/** Waits for the next hour after the hourly limit, within the grace period. */
export function nextHour(now: Instant, deadlineAt: Instant): Step {
  const wakeAt = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
  return wakeAt > deadlineAt ? dropped(HOURLY_LIMIT) : { wakeAt, code: HOURLY_LIMIT, notSent: true };
}

/** Returns a dropped reminder. @param cause code of the refusal */
export function dropped(reason: DropReason, cause: string | null = null): Step {
  return { finish: { state: 'dropped', reason, code: cause } };
}

/** Returns whether a patient was not told of a cancellation because the clinic keeps the patient as inactive: no one expects a visit. */
export function isForInactive({ state, correction, lastCode }: Pick<LedgerEntry, 'state' | 'correction' | 'lastCode'>) {
  return state === 'dropped' && correction?.kind === 'cancelled' && lastCode === PATIENT_INACTIVE;
}

/** Returns a possibly delivered reminder with unknown result. */
export function unclear(cause: string): Step {
  return { finish: { state: 'unknown', code: cause } };
}

/** Returns messages of these appointments that the receiver reported as not delivered. */
export async function failedOf(
  { ledger }: OpenReminders,
  appointmentIds: readonly string[],
): Promise<(entry: LedgerEntry) => boolean> {
  const entries = [...(await ledger.ofAppointments(appointmentIds)).values()].flat();
  const reports = await ledger.reports(entries.flatMap(({ reference }) => reference ?? []));
  return ({ reference }) => reference !== null && reports.get(reference)?.state === 'failed';
}
