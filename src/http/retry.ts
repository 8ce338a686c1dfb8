import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { exponentialBackoffMs } from '../model/backoff.ts';
import { MirrorError } from '../model/errors.ts';
import { DAY_MS, SECOND_MS } from '../model/time.ts';

/** How often something is tried in place, and how long is waited in between. */
interface RetryRules {
  /** The first one included. */
  tries: number;
  /** Before the second try; doubled with each one after it, and up to doubled again by chance. */
  firstWaitMs: number;
  /** Before any try. */
  longestWaitMs: number;
}

/** What is tried again when. */
export interface RetryOptions {
  rules: RetryRules;
  /** How long is waited at least after this error of that try, counted from 1; null: it is not tried again. */
  waitMsAfter(error: Error, attempt: number): number | null;
  /** Ends the waiting; a try that is under way ends by itself. */
  signal?: AbortSignal;
  /** Waits, and throws when the signal is aborted; by the clock of the system when absent. */
  pause?(durationMs: number): Promise<void>;
  /** 0 to below 1, for the jitter; that of the system when absent. */
  random?(): number;
}

/** Codes of waits that are somebody else's: the operator stops, or the shared budget said how long. */
const NOT_HERE = new Set(['aborted', 'budget-exhausted', 'budget-paused']);

/**
 * Does something, and again as long as it fails in passing: the one way in which anything is tried again in place. What takes longer is
 * thrown, and comes back with its job (`jobs/retry.ts`).
 * @throws what the last try threw; an AbortError when the signal is aborted before a try
 */
export async function retried<Result>(
  work: () => Promise<Result>,
  { rules, waitMsAfter, signal, pause = waitUntil(signal), random = Math.random }: RetryOptions,
): Promise<Result> {
  signal?.throwIfAborted();
  const backoff = { firstMs: 2 * rules.firstWaitMs, longestMs: 2 * rules.longestWaitMs, jitter: 1 / 2 };
  return pRetry(() => work(), {
    retries: rules.tries - 1,
    // What the other side asks for and what we would wait by ourselves is one wait, below.
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
 * How long is waited at least after an error that passes by itself: as long as the other side asks. Null for any other, and for a wait
 * that is too long to be sat through.
 */
export function passingWaitMs(error: Error, { longestWaitMs }: RetryRules): number | null {
  if (!(error instanceof MirrorError) || error.actor !== 'remote' || NOT_HERE.has(error.code)) return null;
  const askedMs = error.retryAfterMs ?? 0;
  return error.retry !== 'never' && askedMs <= longestWaitMs ? askedMs : null;
}

/** No wait that a server asks for is taken to be longer than this. */
const LONGEST_WAIT_MS = DAY_MS;
/** A wait of years is a mistake of the server, which names no wait. */
const LONGEST_CREDIBLE_MS = 31 * DAY_MS;
/** Numbers from here on are points in time: 10^9 seconds after 1970 was in 2001, as were 10^12 milliseconds. */
const FIRST_EPOCH_SECONDS = 1e9;
const FIRST_EPOCH_MS = 1e12;

/** Headers that name the wait itself, by the factor from their unit to milliseconds. */
const WAITS: readonly [string, number][] = [
  ['retry-after', SECOND_MS],
  // https://learn.microsoft.com/rest/api/cosmos-db/common-cosmosdb-rest-response-headers
  ['retry-after-ms', 1],
  ['x-ms-retry-after-ms', 1],
];
/** Headers that name the end of a limit: seconds that are left, or a point in time. Servers send them with every answer. */
const RESETS = ['ratelimit-reset', 'x-ratelimit-reset', 'x-rate-limit-reset', 'x-ratelimit-reset-after'];
/** Answers that refuse a request for its haste; some vendors do so with 403. With any other answer, a reset is no wait. */
const REFUSALS: ReadonlySet<number> = new Set([403, 420, 429]);

/**
 * How long an answer asks us to wait, in milliseconds: above zero, at most a day; null when the answer names no usable wait. Every wait
 * that a server names is read here: Retry-After first, then the headers of rate limits, in whichever of the usual forms. Points in time
 * are compared with the answer's own Date, since the server's clock may be wrong. Zero, the past and nonsense name no wait.
 * @see RFC 9110 section 10.2.3, and https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/ in its older and newer forms
 */
export function retryAfterMs({ status, headers }: Pick<Response, 'status' | 'headers'>, nowMs: number): number | null {
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

/** What the server's clock said when it answered, by its Date header; null when the answer has none. */
export function serverNow(headers: Headers): number | null {
  return pointInTime(headers.get('date')?.trim() ?? '');
}

/** @param clocks by which a point in time is read; the first one that makes a credible wait of it counts */
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

/** A date of HTTP, in each of its three forms, or one of ISO 8601. HTTP's last form names no zone and means GMT. */
function pointInTime(text: string): number | null {
  if (!/^([A-Z][a-z]{2,8},? |\d{4}-\d\d-\d\dT)/.test(text)) return null;
  const zone = /(GMT|UTC|Z|[+-]\d\d:?\d\d)$/.test(text) ? '' : /^\d/.test(text) ? 'Z' : ' GMT';
  const at = Date.parse(text + zone);
  return Number.isNaN(at) ? null : at;
}

/**
 * The header RateLimit: `limit=10, remaining=0, reset=20`, or one member for each policy, `"minute";r=0;t=20`. Of several, the policies
 * count of which nothing remains, and the longest wait of these.
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
