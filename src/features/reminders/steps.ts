import type { MirrorError } from '../../model/errors.ts';
import type { DropReason, LedgerEntry } from '../../model/reminders.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../model/time.ts';
import type { OpenReminders } from './ports.ts';
import type { SendDecision } from './rules.ts';
import type { ReminderSettlement } from './store.ts';

/** Between two tries to ask a clinic that doesn't answer. */
export const SOURCE_RETRY_MS = MINUTE_MS;
const HOURLY_LIMIT = 'hourly-limit';

/** How a look at a reminder ended. */
export type Step =
  | { finish: ReminderSettlement }
  /** @property notSent it was surely not handed over */
  | { wakeAt: Instant; code: string | null; notSent: boolean };

/** What a verdict before handing over means. */
export function stepOf(decision: Exclude<SendDecision, { do: 'send' }>): Step {
  return decision.do === 'drop' ? dropped(decision.reason) : { wakeAt: decision.untilAt, code: null, notSent: true };
}

/** A clinic that can't be asked is asked again until the reminder has waited long enough. */
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

/** The hour's limit is reached: the reminder waits for the next one, as long as its grace lasts. */
export function nextHour(now: Instant, deadlineAt: Instant): Step {
  const wakeAt = (Math.floor(now / HOUR_MS) + 1) * HOUR_MS;
  return wakeAt > deadlineAt ? dropped(HOURLY_LIMIT) : { wakeAt, code: HOURLY_LIMIT, notSent: true };
}

/** It is not sent. @param cause the code of what refused it */
export function dropped(reason: DropReason, cause: string | null = null): Step {
  return { finish: { state: 'dropped', reason, code: cause } };
}

/** It may have been handed over, and nobody knows. */
export function unclear(cause: string): Step {
  return { finish: { state: 'unknown', code: cause } };
}

/** What the other side reported as not delivered, of the messages of these appointments. */
export async function failedOf(
  { ledger }: OpenReminders,
  appointmentIds: readonly string[],
): Promise<(entry: LedgerEntry) => boolean> {
  const entries = [...(await ledger.ofAppointments(appointmentIds)).values()].flat();
  const reports = await ledger.reports(entries.flatMap(({ reference }) => reference ?? []));
  return ({ reference }) => reference !== null && reports.get(reference)?.state === 'failed';
}
