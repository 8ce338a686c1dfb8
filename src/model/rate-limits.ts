import { MINUTE_MS, SECOND_MS } from './time.ts';

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
