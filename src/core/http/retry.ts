import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { exponentialBackoffMs } from '../model/backoff.ts';
import { MirrorError } from '../model/errors.ts';
import { DAY_MS, SECOND_MS } from '../model/time.ts';
import type { AnswerHeaders } from './headers.ts';

/** Number of attempts and waits between them. */
interface RetryRules {
  /** Attempts, including the first. */
  tries: number;
  /** Wait before the second attempt; doubles with each attempt, plus random jitter of up to 100 %. */
  firstWaitMs: number;
  /** Longest wait before an attempt. */
  longestWaitMs: number;
}

export interface RetryOptions {
  rules: RetryRules;
  /** Returns the least wait after an error of an attempt (counted from 1), or null for no further attempt. */
  waitMsAfter(error: Error, attempt: number): number | null;
  /** Ends the wait; a running attempt ends by separate limits. */
  signal?: AbortSignal;
  /** Waits, and throws when the signal aborts; default: the system clock. */
  pause?(durationMs: number): Promise<void>;
  /** Jitter from 0 to below 1; default: the system's random numbers. */
  random?(): number;
}

/** Codes of waits that are decided elsewhere: the operator stops, or the shared budget sets the wait. */
const NOT_HERE = new Set(['aborted', 'budget-exhausted', 'budget-paused']);

/**
 * Runs work and retries temporary failures in place; the only implementation of such retries. Longer failures are thrown, and the job
 * retries later (`engine/retry.ts`).
 * @throws the error of the last attempt; an AbortError if the signal aborts before an attempt
 */
export async function retried<Result>(
  work: () => Promise<Result>,
  { rules, waitMsAfter, signal, pause = waitUntil(signal), random = Math.random }: RetryOptions,
): Promise<Result> {
  signal?.throwIfAborted();
  const backoff = { firstMs: 2 * rules.firstWaitMs, longestMs: 2 * rules.longestWaitMs, jitter: 1 / 2 };
  return pRetry(() => work(), {
    retries: rules.tries - 1,
    // The vendor's requested wait and the backoff are combined into one wait below.
    minTimeout: 0,
    async shouldRetry({ error, attemptNumber }) {
      const leastMs = waitMsAfter(error, attemptNumber);
      if (leastMs === null) return false;
      const ownMs = exponentialBackoffMs(backoff, attemptNumber - 1, random);
      await pause(Math.max(leastMs, Math.min(ownMs, rules.longestWaitMs)));
      return true;
    },
  });
}

function waitUntil(signal: AbortSignal | undefined): NonNullable<RetryOptions['pause']> {
  return (durationMs) => sleep(durationMs, undefined, signal === undefined ? {} : { signal });
}

/**
 * Returns the least wait after a temporary error: the vendor's requested wait. Null for permanent errors and for waits that are too long to
 * hold.
 */
export function passingWaitMs(error: Error, { longestWaitMs }: RetryRules): number | null {
  if (!(error instanceof MirrorError) || error.actor !== 'remote' || NOT_HERE.has(error.code)) return null;
  const askedMs = error.retryAfterMs ?? 0;
  return error.retry !== 'never' && askedMs <= longestWaitMs ? askedMs : null;
}

/** Cap for waits that a server requests. */
const LONGEST_WAIT_MS = DAY_MS;
/** A wait of years is a server's mistake and is ignored. */
const LONGEST_CREDIBLE_MS = 31 * DAY_MS;
/** Larger numbers are points in time: 10^9 seconds and 10^12 milliseconds after 1970 are both in 2001. */
const FIRST_EPOCH_SECONDS = 1e9;
const FIRST_EPOCH_MS = 1e12;

/** Headers that name the wait directly, with the factor from their unit to milliseconds. */
const WAITS: readonly [string, number][] = [
  ['retry-after', SECOND_MS],
  // https://learn.microsoft.com/rest/api/cosmos-db/common-cosmosdb-rest-response-headers
  ['retry-after-ms', 1],
  ['x-ms-retry-after-ms', 1],
];
/** Headers that name the end of a limit, as remaining seconds or a point in time. Servers send these headers with every answer. */
const RESETS = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset', 'x-ratelimit-reset-after'];
/** Statuses that refuse a request because of its rate; some vendors use 403. With other statuses, a reset header is not a wait. */
const REFUSALS: ReadonlySet<number> = new Set([403, 420, 429]);

/**
 * Returns the wait that an answer requests in milliseconds: above zero, at most a day; null if the answer names no usable wait. Reads every
 * header for waits: first Retry-After, then rate limit headers in their usual forms. Points in time are compared with the answer's Date
 * header, because the server's clock may be wrong. Zero, past times and invalid values are not waits.
 * @see RFC 9110 section 10.2.3, and https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ in its older and newer forms
 */
export function retryAfterMs(
  { status, headers }: { status: number; headers: AnswerHeaders },
  nowMs: number,
): number | null {
  const clocks = [serverNow(headers) ?? nowMs, nowMs];
  for (const [name, unitMs] of WAITS) {
    const wait = waitIn(headers.get(name), unitMs, clocks);
    if (wait !== null) return wait;
  }
  if (!REFUSALS.has(status)) return null;
  for (const name of RESETS) {
    const wait = waitIn(headers.get(name), SECOND_MS, clocks);
    if (wait !== null) return wait;
  }
  return fromRateLimit(headers.get('ratelimit'), clocks);
}

/** Returns the server's time from the Date header, or null. */
export function serverNow(headers: AnswerHeaders): number | null {
  return pointInTime(headers.get('date')?.trim() ?? '');
}

/** @param clocks for reading points in time; the first clock with a credible wait applies */
function waitIn(value: string | null, unitMs: number, clocks: readonly number[]): number | null {
  const text = value?.trim() ?? '';
  const at = /^\d+(\.\d+)?$/.test(text) ? epochMs(Number(text)) : pointInTime(text);
  const waits = at === null ? [Number(text || Number.NaN) * unitMs] : clocks.map((clock) => at - clock);
  const credible = waits.find((wait) => wait > 0 && wait <= LONGEST_CREDIBLE_MS);
  return credible === undefined ? null : Math.min(credible, LONGEST_WAIT_MS);
}

function epochMs(number: number): number | null {
  if (number >= FIRST_EPOCH_MS) return number;
  return number >= FIRST_EPOCH_SECONDS ? number * SECOND_MS : null;
}

/** Parses an HTTP date in each of its three forms, or an ISO 8601 date. The last HTTP form has no zone and means GMT. */
function pointInTime(text: string): number | null {
  if (!/^([A-Z][a-z]{2,8},? |\d{4}-\d\d-\d\dT)/.test(text)) return null;
  const zone = /(GMT|UTC|Z|[+-]\d\d:?\d\d)$/.test(text) ? '' : /^\d/.test(text) ? 'Z' : ' GMT';
  const at = Date.parse(text + zone);
  return Number.isNaN(at) ? null : at;
}

/**
 * Parses the header RateLimit: `limit=10, remaining=0, reset=20`, or one member per policy, `"minute";r=0;t=20`. Among several policies,
 * exhausted policies apply, with the longest wait.
 */
function fromRateLimit(value: string | null, clocks: readonly number[]): number | null {
  const members = /(^|[\s,;])reset=/i.test(value ?? '') ? [value ?? ''] : (value ?? '').split(',');
  const parsed = members.map((member) => ({
    wait: waitIn(parameter(member, 'reset') ?? parameter(member, 't'), SECOND_MS, clocks),
    isSpent: Number(parameter(member, 'r') ?? 0) === 0,
  }));
  const waits = parsed.flatMap(({ wait, isSpent }) => (isSpent && wait !== null ? [wait] : []));
  return waits.length === 0 ? null : Math.max(...waits);
}

function parameter(member: string, name: string): string | null {
  return new RegExp(`(?:^|[\\s,;])${name}=([\\d.]+)`, 'i').exec(member)?.[1] ?? null;
}
