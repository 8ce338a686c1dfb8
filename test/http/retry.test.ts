import { describe, expect, test } from 'vitest';
import { passingWaitMs, type RetryOptions, retried } from '../../src/http/retry.ts';
import { MirrorError, type MirrorErrorOptions } from '../../src/model/errors.ts';

const RULES = { tries: 4, firstWaitMs: 100, longestWaitMs: 300 };

function failure(options: Partial<MirrorErrorOptions> = {}): MirrorError {
  return new MirrorError('no', { actor: 'remote', code: 'unavailable', retry: 'later', ...options });
}

/** Work that fails in these ways, one after the other, then gives `done`; waits are noted and not waited for. */
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

describe('what fails in passing', () => {
  test('is tried again after waits that double, with chance, up to the longest', async () => {
    const { outcome, waits, tries } = await play([failure(), failure(), failure()]);
    expect([outcome, tries]).toEqual(['done', 4]);
    expect(waits).toEqual([between(100, 200), between(200, 300), 300]);
  });

  test('is given up after the last try, with what that one ended with, and no wait after it', async () => {
    const last = failure({ code: 'timeout' });
    const { outcome, waits, tries } = await play([failure(), failure(), failure(), last]);
    expect([outcome, tries, waits.length]).toEqual([last, 4, 3]);
  });

  test('waits as long as the other side asks, where that is the longer wait', async () => {
    const { waits } = await play([failure({ retryAfterMs: 290 }), failure({ retryAfterMs: 1 })]);
    expect(waits).toEqual([290, between(200, 300)]);
  });
});

describe('what is not tried again', () => {
  test.each<[string, Error]>([
    ['a longer wait than can be sat through', failure({ retryAfterMs: 301 })],
    ['what never changes', failure({ retry: 'never' })],
    ['what somebody must act upon', failure({ actor: 'settings' })],
    ['a budget that told how long', failure({ code: 'budget-paused' })],
    ['a stop', failure({ code: 'aborted' })],
    ['what nobody foresaw', new Error('?')],
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
