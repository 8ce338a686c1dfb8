import { exponentialBackoffMs, unnamedWaitMs } from '../core/model/backoff.ts';
import type { MirrorError } from '../core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';

/** When failed work is retried. `parked`: it requires a change or an action, and is retried daily. */
export interface NextTry {
  delayMs: number;
  parked: boolean;
  /** The vendor specified the time. */
  isAsked?: boolean;
}

const OF_ONE_OPERATION = { firstMs: SECOND_MS, longestMs: 15 * MINUTE_MS, jitter: 1 };
/** Minimum delay before any retry of an operation. */
const SHORTEST_WAIT_MS = 100;
const PARKED_AFTER_ATTEMPTS = 12;
/** Maximum backoff; ten minutes with jitter. */
const LONGEST_BACKOFF_MS = 5 * MINUTE_MS;
/** Maximum backoff if action is required; an hour with jitter. */
const LONGEST_BACKOFF_FOR_PERSON_MS = HOUR_MS / 2;

/**
 * Decides when a failed operation is retried: now, later or never. A delay specified by the vendor applies, up to a day. Otherwise
 * exponential backoff with full jitter applies, from a second to a quarter of an hour.
 * @param attempts number of earlier failures
 */
export function nextTry(error: MirrorError, attempts: number, random: () => number): NextTry {
  if (error.retry === 'never' || (error.actor !== 'remote' && attempts >= PARKED_AFTER_ATTEMPTS)) {
    return { delayMs: DAY_MS + jitter(HOUR_MS, random), parked: true };
  }
  if (error.retryAfterMs !== undefined) {
    return { delayMs: Math.min(error.retryAfterMs, DAY_MS) + jitter(SECOND_MS, random), parked: false, isAsked: true };
  }
  if (error.retry === 'now' && attempts === 0) return { delayMs: 0, parked: false };
  return { delayMs: SHORTEST_WAIT_MS + exponentialBackoffMs(OF_ONE_OPERATION, attempts, random), parked: false };
}

/**
 * Decides about an error of the complete target that affected one operation while others succeeded. The first time, the cause is unknown,
 * and all such operations are retried soon. If the error belongs to the target, it then ends the call, and the operations wait with the
 * target. If other operations succeed again, the error belongs to the operation.
 * @param isSecond the last attempt failed with the same error
 */
export function nextTryInTarget(
  error: MirrorError,
  { attempts, isSecond }: { attempts: number; isSecond: boolean },
  random: () => number,
): NextTry {
  const isOfTarget = error.concerns === 'target' || error.actor === 'authorization';
  if (!isOfTarget || isSecond || error.retryAfterMs !== undefined) return nextTry(error, attempts, random);
  return { delayMs: SHORTEST_WAIT_MS + exponentialBackoffMs(OF_ONE_OPERATION, attempts, random), parked: false };
}

/**
 * Returns the delay of a target after an error of the complete target. A delay specified by the vendor applies. Otherwise the delay is
 * about as long as the failure has lasted, from a second to ten minutes. If action is required, the daemon retries within an hour, because
 * an administrator may act without a notification. The first retries are early, since the action may have happened while the failed work
 * was running.
 * @param failingForMs how long the same error has lasted
 */
export function targetBackoffMs(error: MirrorError, random: () => number, failingForMs = 0): number {
  const { retryAfterMs: askedMs, growsToMs } = error;
  if (askedMs !== undefined) {
    const waitMs = growsToMs === undefined ? askedMs : unnamedWaitMs(askedMs, growsToMs, failingForMs);
    return Math.min(waitMs, DAY_MS) + jitter(SECOND_MS, random);
  }
  const longestMs = error.retry === 'never' ? LONGEST_BACKOFF_FOR_PERSON_MS : LONGEST_BACKOFF_MS;
  // Each delay is added to the failure's duration, so the delay doubles.
  const ofTarget = { firstMs: 2 * Math.max(failingForMs, SECOND_MS), longestMs: 2 * longestMs, jitter: 1 / 2 };
  return exponentialBackoffMs(ofTarget, 0, random);
}

function jitter(upToMs: number, random: () => number): number {
  return Math.floor(random() * upToMs);
}
