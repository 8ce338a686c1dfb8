import { exponentialBackoffMs, unnamedWaitMs } from '../model/backoff.ts';
import type { MirrorError } from '../model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/time.ts';

/** When failed work is tried again. `parked`: it needs a change or a person, and is tried daily in case that came. */
export interface NextTry {
  delayMs: number;
  parked: boolean;
  /** The other side named the time. */
  isAsked?: boolean;
}

const OF_ONE_OPERATION = { firstMs: SECOND_MS, longestMs: 15 * MINUTE_MS, jitter: 1 };
/** Before any try of an operation. */
const SHORTEST_WAIT_MS = 100;
const PARKED_AFTER_ATTEMPTS = 12;
const LONGEST_BACKOFF_MS = 5 * MINUTE_MS;
/** The same where a person must act; with its jitter an hour. */
const LONGEST_BACKOFF_FOR_PERSON_MS = HOUR_MS / 2;

/**
 * The one function that turns an error into now, later or never. What the other side asked for is honoured (up to a day); else
 * exponential backoff with full jitter, from a second to a quarter of an hour.
 * @param attempts how often it failed before
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
 * The same for an error of the whole target that met one operation while others came through. The first time nobody knows whose it is, and
 * soon all of those are asked again: of the whole target it then ends the call, and they wait with the target. Who meets it again while
 * others come through has it alone.
 * @param isSecond its last try failed so too
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
 * How long nothing of a target is tried after an error that concerns all of it: what the other side asked for, else about as long as it has
 * been failing already, from a second to five minutes. One that needs a person is looked at again within an hour, in case that person
 * acted without telling us; soon at first, since the person may have acted while the work that failed was under way.
 * @param failingForMs how long the same error has lasted
 */
export function targetBackoffMs(error: MirrorError, random: () => number, failingForMs = 0): number {
  const { retryAfterMs: askedMs, growsToMs } = error;
  if (askedMs !== undefined) {
    const waitMs = growsToMs === undefined ? askedMs : unnamedWaitMs(askedMs, growsToMs, failingForMs);
    return Math.min(waitMs, DAY_MS) + jitter(SECOND_MS, random);
  }
  const longestMs = error.retry === 'never' ? LONGEST_BACKOFF_FOR_PERSON_MS : LONGEST_BACKOFF_MS;
  // As long as it has been failing doubles by itself: each wait is added to it.
  const ofTarget = { firstMs: 2 * Math.max(failingForMs, SECOND_MS), longestMs: 2 * longestMs, jitter: 1 / 2 };
  return exponentialBackoffMs(ofTarget, 0, random);
}

function jitter(upToMs: number, random: () => number): number {
  return Math.floor(random() * upToMs);
}
