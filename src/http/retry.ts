import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import { exponentialBackoffMs } from '../model/backoff.ts';
import { MirrorError } from '../model/errors.ts';

/** How often something is tried in place, and how long is waited in between. */
export interface RetryRules {
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
