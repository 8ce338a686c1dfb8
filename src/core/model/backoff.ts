import { MINUTE_MS, SECOND_MS } from './time.ts';

/** Growth of the waits between attempts. */
export interface Backoff {
  /** Longest wait after the first failure, above 0; doubles with each further failure. */
  firstMs: number;
  /** Upper limit of each wait. */
  longestMs: number;
  /** Random share of each wait, 0 (default) to 1. Without jitter, clients that failed together retry together. */
  jitter?: number;
}

/**
 * Returns the wait before the next attempt: exponential with a cap and jitter. No other formula is used.
 * @param failures earlier failures in a row: 0 after the first failure
 * @param random 0 to below 1, for the jitter; absent: the shortest wait that the jitter allows
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

/** Rate limits apply per second, minute or ten minutes, and end within this time whatever wait a server names. Our choice. */
export const LONGEST_RATE_LIMIT_WAIT_MS = 15 * MINUTE_MS;

/**
 * Bounds of the wait after a rate limit that names none. The wait is slightly longer than the limit has already lasted. A limit of 20
 * seconds refuses two requests, and the third follows at most 10 seconds after its end. Our choice.
 */
export const UNNAMED_WAIT = { firstMs: 10 * SECOND_MS, longestMs: MINUTE_MS, growth: 1.2 };

/** Returns the wait before the next request. @param refusedForMs time since the first refusal in a row */
export function unnamedWaitMs(firstMs: number, longestMs: number, refusedForMs: number): number {
  // A limit that refuses again after a short wait has a longer period. With twice the usual wait, a limit of 20 seconds refuses two
  // requests.
  const isShort = firstMs < UNNAMED_WAIT.firstMs;
  const leastMs = refusedForMs > 0 && isShort ? 2 * UNNAMED_WAIT.firstMs : firstMs;
  return Math.max(leastMs, Math.min(refusedForMs * UNNAMED_WAIT.growth, longestMs));
}
