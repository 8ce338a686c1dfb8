import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { passingWaitMs, type RetryOptions, retried, retryAfterMs } from '../../../src/core/http/retry.ts';
import { MirrorError, type MirrorErrorOptions } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';

const RULES = { tries: 4, firstWaitMs: 100, longestWaitMs: 300 };

function failure(options: Partial<MirrorErrorOptions> = {}): MirrorError {
  return new MirrorError('no', { actor: 'remote', code: 'unavailable', retry: 'later', ...options });
}

/** Runs work that fails with these errors in turn and then returns `done`; delays are recorded and take no time. */
async function play(failures: Error[], given: Partial<RetryOptions> = {}) {
  const waits: number[] = [];
  let tries = 0;
  const work = async () => {
    const error = failures[tries];
    tries += 1;
    if (error !== undefined) throw error;
    return 'done';
  };
  const options: RetryOptions = {
    rules: RULES,
    waitMsAfter: (error) => passingWaitMs(error, RULES),
    pause: async (durationMs) => void waits.push(durationMs),
    ...given,
  };
  const outcome = await retried(work, options).catch((error: unknown) => error);
  return { outcome, waits, tries };
}

/** A wait that chance makes longer, up to the double of it. */
function between(leastMs: number, mostMs: number) {
  return expect.toSatisfy((waitMs: number) => waitMs >= leastMs && waitMs <= mostMs);
}

describe('a temporary failure', () => {
  test('is retried after delays that double, with jitter, up to the longest', async () => {
    const { outcome, waits, tries } = await play([failure(), failure(), failure()]);
    expect([outcome, tries]).toEqual(['done', 4]);
    expect(waits).toEqual([between(100, 200), between(200, 300), 300]);
  });

  test('is returned after the last attempt, with the error of that attempt, and without a delay', async () => {
    const last = failure({ code: 'timeout' });
    const { outcome, waits, tries } = await play([failure(), failure(), failure(), last]);
    expect([outcome, tries, waits.length]).toEqual([last, 4, 3]);
  });

  test('is retried after the delay that the server requests, if that is longer', async () => {
    const { waits } = await play([failure({ retryAfterMs: 290 }), failure({ retryAfterMs: 1 })]);
    expect(waits).toEqual([290, between(200, 300)]);
  });
});

describe('an error without a retry', () => {
  test.each<[string, Error]>([
    ['a longer delay than the limit', failure({ retryAfterMs: 301 })],
    ['a permanent error', failure({ retry: 'never' })],
    ['an error that requires action', failure({ actor: 'settings' })],
    ['a budget with a known delay', failure({ code: 'budget-paused' })],
    ['a stop', failure({ code: 'aborted' })],
    ['an unexpected error', new Error('?')],
  ])('%s', async (_, error) => {
    expect(await play([error])).toEqual({ outcome: error, waits: [], tries: 1 });
  });

  test('anything, once the signal is raised: before a try, and while waiting', async () => {
    const raised = await play([], { signal: AbortSignal.abort() });
    expect([raised.tries, (raised.outcome as Error).name]).toEqual([0, 'AbortError']);
    const stop = new AbortController();
    const work = async () => {
      setImmediate(() => stop.abort());
      throw failure();
    };
    const rules = { ...RULES, firstWaitMs: 60_000, longestWaitMs: 60_000 };
    const waiting = retried(work, { rules, waitMsAfter: () => 0, signal: stop.signal });
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });

  test('what was done while the signal was raised, which counts', async () => {
    const stop = new AbortController();
    const work = async () => {
      stop.abort();
      return 'done';
    };
    expect(await retried(work, { rules: RULES, waitMsAfter: () => 0, signal: stop.signal })).toBe('done');
  });
});

const NOW = Date.UTC(2026, 5, 15, 8);
const EPOCH_S = NOW / 1_000 + 20;
const httpDate = (at: number) => new Date(at).toUTCString();

function wait(headers: Record<string, string>, status = 429): number | null {
  return retryAfterMs({ status, headers: new Headers(headers) }, NOW);
}

describe('a wait of 20 seconds', () => {
  test.each<[string, Record<string, string>]>([
    ['Retry-After in seconds', { 'retry-after': '20' }],
    ['Retry-After with spaces and a fraction', { 'retry-after': ' 20.0 ' }],
    ['Retry-After in epoch seconds', { 'retry-after': String(EPOCH_S) }],
    ['Retry-After in epoch milliseconds', { 'retry-after': String(EPOCH_S * 1_000) }],
    ['Retry-After as a date', { 'retry-after': httpDate(NOW + 20_000) }],
    ['Retry-After as a date of RFC 850', { 'retry-after': 'Monday, 15-Jun-26 08:00:20 GMT' }],
    ['Retry-After as a date of asctime', { 'retry-after': 'Mon Jun 15 08:00:20 2026' }],
    ['Retry-After as a date of ISO 8601', { 'retry-after': '2026-06-15T08:00:20Z' }],
    [
      'a date by a clock 3 h ahead',
      { 'retry-after': httpDate(NOW + 3 * HOUR_MS + 20_000), date: httpDate(NOW + 3 * HOUR_MS) },
    ],
    [
      'a date by a clock 3 h behind',
      { 'retry-after': httpDate(NOW - 3 * HOUR_MS + 20_000), date: httpDate(NOW - 3 * HOUR_MS) },
    ],
    [
      'epoch seconds by a clock 3 h ahead',
      { 'x-ratelimit-reset': String(EPOCH_S + 10_800), date: httpDate(NOW + 3 * HOUR_MS) },
    ],
    ['a date together with a Date of 1970', { 'retry-after': httpDate(NOW + 20_000), date: httpDate(0) }],
    ['milliseconds', { 'retry-after-ms': '20000' }],
    ['milliseconds in the header of Microsoft', { 'x-ms-retry-after-ms': '20000' }],
    ['RateLimit-Reset', { 'ratelimit-reset': '20' }],
    ['X-RateLimit-Reset in seconds', { 'x-ratelimit-reset': '20' }],
    ['X-RateLimit-Reset in epoch seconds', { 'x-ratelimit-reset': String(EPOCH_S) }],
    ['X-RateLimit-Reset in epoch milliseconds', { 'x-ratelimit-reset': String(EPOCH_S * 1_000) }],
    ['X-Rate-Limit-Reset', { 'x-rate-limit-reset': '20' }],
    ['X-RateLimit-Reset-After', { 'x-ratelimit-reset-after': '20' }],
    ['RateLimit of the older drafts', { ratelimit: 'limit=100, remaining=0, reset=20' }],
    ['RateLimit of the newer drafts', { ratelimit: '"default";r=0;t=20' }],
    ['RateLimit with a policy of which something remains', { ratelimit: '"day";r=900;t=3600, "minute";r=0;t=20' }],
    ['Retry-After, which has priority over a reset', { 'retry-after': '20', 'x-ratelimit-reset': '5' }],
    ['a reset together with an unusable Retry-After', { 'retry-after': 'soon', 'x-ratelimit-reset': '20' }],
    ['a reset together with a Retry-After of 0', { 'retry-after': '0', 'ratelimit-reset': '20' }],
  ])('%s', (_, headers) => {
    expect(wait(headers)).toBe(20_000);
  });
});

describe('no delay is read from', () => {
  test.each<[string, Record<string, string>]>([
    ['nothing', {}],
    ['zero', { 'retry-after': '0' }],
    ['a negative number', { 'retry-after': '-20' }],
    ['words', { 'retry-after': 'soon 5' }],
    ['NaN', { 'retry-after': 'NaN' }],
    ['a date that has passed', { 'retry-after': httpDate(NOW - HOUR_MS) }],
    ['a point in time that has passed', { 'x-ratelimit-reset': String(NOW / 1_000 - 5) }],
    ['years', { 'retry-after': '99999999' }],
    ['a date in ten years', { 'retry-after': httpDate(NOW + 3_650 * DAY_MS) }],
    ['a day without a time', { 'x-ratelimit-reset': '2026-06-15' }],
    ['a RateLimit of which something remains', { ratelimit: '"default";r=5;t=20' }],
  ])('%s', (_, headers) => {
    expect(wait(headers)).toBeNull();
  });

  test.each([200, 404, 500, 503])(
    'a reset that comes with status %i, since servers send it with every answer',
    (status) => {
      expect(wait({ 'x-ratelimit-reset': '900' }, status)).toBeNull();
      expect(wait({ 'retry-after': '20', 'x-ratelimit-reset': '900' }, status)).toBe(20_000);
    },
  );
});

test('more than a day is treated as a day', () => {
  expect(wait({ 'retry-after': '172800' })).toBe(DAY_MS);
});

test('a delay is above zero and at most a day, whatever the headers contain', () => {
  const values = fc.oneof(
    fc.string({ unit: 'grapheme-ascii' }),
    fc.integer().map(String),
    fc.double().map(String),
    fc.date({ noInvalidDate: true }).map((date) => date.toUTCString()),
    fc.tuple(fc.nat(), fc.nat()).map(([r, t]) => `"p";r=${r};t=${t}`),
  );
  const names = ['date', 'retry-after', 'x-ratelimit-reset', 'ratelimit'];
  fc.assert(
    fc.property(fc.array(values, { minLength: 4, maxLength: 4 }), (given) => {
      const answer = wait(Object.fromEntries(names.map((name, index) => [name, given[index] ?? ''])));
      if (answer !== null) expect(answer > 0 && answer <= DAY_MS).toBe(true);
    }),
  );
});
