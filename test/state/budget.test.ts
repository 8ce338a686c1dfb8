import { describe, expect, test } from 'vitest';
import { type BudgetLimits, type BudgetShare, openBudgetShare, type Priority } from '../../src/state/budget.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;

function open(tenant: string, limits: BudgetLimits, priority: Priority = 'background'): BudgetShare {
  return openBudgetShare(redis.connect(), 'client-1', tenant, limits, priority);
}

/** Takes again and again, several at once, until it is told to stop. @returns how often it got one */
function greedy(share: BudgetShare, atOnce: number, signal: AbortSignal, units = 1): { taken: number } {
  const count = { taken: 0 };
  const loop = async () => {
    while (!signal.aborted) {
      try {
        await share.take(signal, units);
        count.taken += 1;
      } catch {
        if (signal.aborted) return;
      }
    }
  };
  for (let index = 0; index < atOnce; index += 1) void loop();
  return count;
}

async function timed(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
}

describe('a budget', () => {
  test('is not exceeded by many tenants over many connections, and not wasted either', async () => {
    const limits = { requestsPerMinute: 3_000, burst: 10 };
    const stop = new AbortController();
    const startedAt = performance.now();
    const counts = ['a', 'a', 'b', 'b', 'c', 'c'].map((tenant) => greedy(open(tenant, limits), 3, stop.signal));
    const taken = () => counts.reduce((sum, count) => sum + count.taken, 0);
    await waitFor(() => taken() >= 60, { what: 'sixty requests' });
    const allowed = () => limits.burst + (performance.now() - startedAt) / 20 + 1;
    expect(taken()).toBeLessThanOrEqual(allowed());
    stop.abort();
    expect(performance.now() - startedAt).toBeLessThan(2_500);
  });

  test('is divided evenly among those that ask for more than there is', async () => {
    const limits = { requestsPerMinute: 6_000, burst: 10 };
    const stop = new AbortController();
    const counts = [20, 5, 1].map((atOnce, index) => greedy(open(`t${index}`, limits), atOnce, stop.signal));
    await waitFor(() => counts.reduce((sum, { taken }) => sum + taken, 0) >= 150, { what: '150 requests' });
    stop.abort();
    for (const { taken } of counts) expect(taken).toBeGreaterThan(30);
  });

  test.each([
    [1, 5],
    [10, 1],
  ])('lets a modest tenant have its %i units in bounded time, however greedy another one is', async (units, times) => {
    const limits = { requestsPerMinute: 6_000, burst: 20 };
    const stop = new AbortController();
    const other = greedy(open('greedy', limits), 30, stop.signal);
    await waitFor(() => other.taken > 20, { what: 'the greedy one to be under way' });
    const modest = open('modest', limits);
    for (let index = 0; index < times; index += 1) {
      // Two participants, ten milliseconds a unit: its share of the rate gives a unit in twenty.
      expect(await timed(modest.take(NEVER, units))).toBeLessThan(20 * units * 2 + 200);
    }
    stop.abort();
  });

  test('lets whoever took nothing yet have a whole batch, also when it is short and many ask', async () => {
    const limits = { requestsPerMinute: 60, burst: 20 };
    for (let index = 0; index < 12; index += 1) await open(`t${index}`, limits).take(NEVER);
    expect(await timed(open('last', limits).take(NEVER, 5))).toBeLessThan(500);
  });

  test('keeps a little for a person who waits', async () => {
    const limits = { requestsPerMinute: 600, burst: 50 };
    const stop = new AbortController();
    const background = greedy(open('nightly', limits), 20, stop.signal);
    await waitFor(() => background.taken >= 25, { what: 'the background to be under way' });
    const interactive = open('person', limits, 'interactive');
    const waits: number[] = [];
    for (let index = 0; index < 5; index += 1) waits.push(await timed(interactive.take(NEVER)));
    stop.abort();
    expect(Math.max(...waits)).toBeLessThan(90);
  });

  test('of another application is another one', async () => {
    const limits = { requestsPerMinute: 1, burst: 1 };
    await open('a', limits).take(NEVER);
    await openBudgetShare(redis.connect(), 'client-2', 'a', limits, 'background').take(NEVER);
  });
});

describe('a pause', () => {
  test('that the other side asked for holds for everybody, the impatient included', async () => {
    const limits = { requestsPerMinute: 6_000, burst: 10 };
    await open('a', limits).pause(300);
    const waits = [open('a', limits), open('b', limits), open('c', limits, 'interactive')].map((share) =>
      timed(share.take(NEVER)),
    );
    for (const wait of await Promise.all(waits)) expect(wait).toBeGreaterThan(250);
  });

  test('is not cut short by a shorter one', async () => {
    const share = open('a', { requestsPerMinute: 6_000, burst: 10 });
    await share.pause(60_000);
    await share.pause(1);
    await expect(share.take(NEVER)).rejects.toMatchObject({ code: 'budget-exhausted' });
  });
});

describe('a wait', () => {
  test('too long to sit through is an error that says how long', async () => {
    const share = open('a', { requestsPerMinute: 1, burst: 1 });
    await share.take(NEVER);
    const failure = await share.take(NEVER).catch((error: unknown) => error);
    expect(failure).toMatchObject({ actor: 'remote', code: 'budget-exhausted', retry: 'later' });
    expect(failure).toHaveProperty('retryAfterMs', expect.closeTo(60_000, -4));
  });

  test('ends when it is told to, and takes nothing', async () => {
    const share = open('a', { requestsPerMinute: 12, burst: 1 });
    await share.take(NEVER);
    const stop = new AbortController();
    const waiting = share.take(stop.signal);
    stop.abort(new Error('stopped'));
    await expect(waiting).rejects.toThrow('stopped');
  });

  test('for more than fits at once is for what fits', async () => {
    await open('a', { requestsPerMinute: 60, burst: 10 }).take(NEVER, 1_000);
  });
});
