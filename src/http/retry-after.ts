import { DAY_MS, SECOND_MS } from '../model/time.ts';

/** No wait that a server asks for is taken to be longer than this. */
const LONGEST_WAIT_MS = DAY_MS;

/**
 * How long an answer asks us to wait, in milliseconds: Retry-After in seconds or as a date, else
 * X-RateLimit-Reset as epoch seconds. Never negative, never above a day; null when the answer says nothing usable.
 * @see RFC 9110 section 10.2.3
 */
export function retryAfterMs(headers: Headers, nowMs: number): number | null {
  const wait = fromRetryAfter(headers.get('retry-after'), nowMs) ?? fromReset(headers.get('x-ratelimit-reset'), nowMs);
  if (wait === null) return null;
  return Math.min(Math.max(wait, 0), LONGEST_WAIT_MS);
}

function fromRetryAfter(value: string | null, nowMs: number): number | null {
  if (value === null) return null;
  if (/^\d+(\.\d+)?$/.test(value.trim())) return Number(value) * SECOND_MS;
  const at = Date.parse(value);
  return Number.isNaN(at) ? null : at - nowMs;
}

function fromReset(value: string | null, nowMs: number): number | null {
  if (value === null || !/^\d+$/.test(value.trim())) return null;
  return Number(value) * SECOND_MS - nowMs;
}
