import { MINUTE_MS, SECOND_MS } from './time.ts';

/** How the waits between tries of one thing grow. */
export interface Backoff {
  /** The longest wait after the first failure; doubled with each failure after it. More than 0. */
  firstMs: number;
  /** No wait is longer. */
  longestMs: number;
  /** The part of each wait that chance decides, so that those who failed together don't come back together: 0 none (when absent), 1 all. */
  jitter?: number;
}

/**
 * How long is waited before the next try: the one formula for it, exponential with a cap and jitter.
 * @param failures how often it failed before the failure after which is waited: 0 after the first
 * @param random 0 to below 1, for the jitter; absent: each wait is as short as it allows
 * @returns whole ms
 * @see https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/ why the cap comes before the jitter
 */
export function exponentialBackoffMs(
  { firstMs, longestMs, jitter = 0 }: Backoff,
  failures: number,
  random: () => number = () => 0,
): number {
  const wholeMs = Math.min(firstMs * 2 ** failures, longestMs);
  return Math.floor(wholeMs * (1 - jitter + jitter * random()));
}

/** Limits count by the second, the minute or ten minutes: one of these is over by then, whatever wait a server names. Our choice. */
export const LONGEST_RATE_LIMIT_WAIT_MS = 15 * MINUTE_MS;

/**
 * The wait after a refusal for haste that names none: as long as the limit has been refusing, and a little more, between these two. So a
 * limit of 20 seconds refuses two requests and is over for at most 10 when the third one goes out. Our choice.
 */
export const UNNAMED_WAIT = { firstMs: 10 * SECOND_MS, longestMs: MINUTE_MS, growth: 1.2 };

/** The wait before the next request. @param refusedForMs since the first of the refusals in a row */
export function unnamedWaitMs(firstMs: number, longestMs: number, refusedForMs: number): number {
  // A limit that refuses again after a short wait does not count by that: with twice the usual wait, one of 20 seconds refuses two requests.
  const isShort = firstMs < UNNAMED_WAIT.firstMs;
  const leastMs = refusedForMs > 0 && isShort ? 2 * UNNAMED_WAIT.firstMs : firstMs;
  return Math.max(leastMs, Math.min(refusedForMs * UNNAMED_WAIT.growth, longestMs));
}
