import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { openBudgetShare } from '../../src/state/budget.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;
const LIMITS = { requestsPerMinute: 240, burst: 7 };
/** Half of the burst is granted in advance. */
const LARGE_BURST = { requestsPerMinute: 240, burst: 40 };
const MINUTE_MS = 60_000;
/** The way of one request is longer than that of another by less than this. */
const WAY_VARIES_MS = 1_000;

/** A connection whose server has the time of the test, and whether it owes an answer: the clock stops until the answer. */
function clocked(connection: RedisClient): { client: RedisClient; owesAnswer: () => boolean } {
  const run = connection.eval.bind(connection) as (...given: unknown[]) => Promise<never>;
  let asked = 0;
  vi.spyOn(connection, 'eval').mockImplementation(async (script, ...given) => {
    asked += 1;
    const now = performance.now();
    try {
      await connection.set('now', `${Math.floor(now / 1_000)} ${Math.floor((now % 1_000) * 1_000)}`);
      const told = "{string.match(redis.call('GET', 'now'), '(%d+) (%d+)')}";
      return await run(String(script).replace("redis.call('TIME')", told), ...given);
    } finally {
      asked -= 1;
    }
  });
  return { client: connection, owesAnswer: () => asked > 0 };
}

/**
 * Returns the times of grants for a participant that always requests more, in milliseconds.
 * @param slowly pauses before each of the first requests, so that their advance grants are used late; `announced` requests do not follow
 */
async function grantsWithin(
  ms: number,
  slowly = { times: 0, pauseMs: 0, announced: 0 },
  limits = LIMITS,
): Promise<number[]> {
  const connection = redis.connect();
  // Its own timers would ring in the test's time.
  await connection.ping();
  useFakeTime();
  const { client, owesAnswer } = clocked(connection);
  const share = openBudgetShare(client, {
    budget: 'client-1',
    participant: 'greedy',
    limits,
    priority: 'interactive',
  });
  const granted: number[] = [];
  while (performance.now() < ms) {
    if (granted.length < slowly.times) {
      await vi.advanceTimersByTimeAsync(slowly.pauseMs);
      share.expect(slowly.announced);
    }
    let isGranted = false;
    const taking = share.take(NEVER).then(() => {
      isGranted = true;
    });
    while (!isGranted) {
      await untilSeen(() => isGranted || (!owesAnswer() && vi.getTimerCount() > 0), 'the answer of Redis');
      if (!isGranted) await vi.advanceTimersToNextTimerAsync();
    }
    await taking;
    granted.push(performance.now());
  }
  return granted;
}

/** The most that come within any minute. */
function mostInAMinute(arrivals: readonly number[]): number {
  const sorted = arrivals.toSorted((one, other) => one - other);
  let first = 0;
  return sorted.reduce((most, at, index) => {
    while ((sorted[first] ?? at) <= at - MINUTE_MS) first += 1;
    return Math.max(most, index - first + 1);
  }, 0);
}

test('no minute of the server has more requests than the budget allows, however long each was on its way', async () => {
  const allowed = LIMITS.requestsPerMinute + LIMITS.burst;
  const granted = await grantsWithin(1.5 * MINUTE_MS);
  expect(mostInAMinute(granted)).toBeGreaterThan(0.97 * allowed);
  const ways = fc.array(fc.integer({ min: 0, max: WAY_VARIES_MS - 1 }), {
    ...{ minLength: granted.length, maxLength: granted.length },
  });
  const arrivalsBy = (wayOf: (index: number) => number) => granted.map((at, index) => at + wayOf(index));
  fc.assert(
    fc.property(ways, (each) => {
      expect(mostInAMinute(arrivalsBy((index) => each[index] ?? 0))).toBeLessThanOrEqual(allowed);
    }),
  );
  // The worst: all until some moment are late, and all from then on come at once.
  for (const turn of granted.keys()) {
    const late = arrivalsBy((index) => (index <= turn ? WAY_VARIES_MS - 1 : 0));
    expect(mostInAMinute(late)).toBeLessThanOrEqual(allowed);
  }
});

test.each([100, 166, 249, 499])(
  'nor where requests come every %i ms at first, of which several are granted at once, and then as many as there may be',
  async (pauseMs) => {
    const allowed = LIMITS.requestsPerMinute + LIMITS.burst;
    const granted = await grantsWithin(1.2 * MINUTE_MS, { times: Math.floor(5_000 / pauseMs), pauseMs, announced: 0 });
    expect(mostInAMinute(granted)).toBeGreaterThan(0.95 * allowed);
    for (const turn of granted.keys()) {
      const late = granted.map((at, index) => at + (index <= turn ? WAY_VARIES_MS - 1 : 0));
      expect(mostInAMinute(late)).toBeLessThanOrEqual(allowed);
    }
  },
);

test.each([100, 499, 700, 3_000])(
  'nor where announced requests do not follow, every %i ms, and their units are returned',
  async (pauseMs) => {
    const allowed = LARGE_BURST.requestsPerMinute + LARGE_BURST.burst;
    const slowly = { times: Math.ceil(9_000 / pauseMs), pauseMs, announced: 20 };
    const granted = await grantsWithin(1.2 * MINUTE_MS, slowly, LARGE_BURST);
    expect(mostInAMinute(granted)).toBeGreaterThan(0.95 * allowed);
    for (const turn of granted.keys()) {
      const late = granted.map((at, index) => at + (index <= turn ? WAY_VARIES_MS - 1 : 0));
      expect(mostInAMinute(late)).toBeLessThanOrEqual(allowed);
    }
  },
);

test('requests that fit together are granted at once, at any rate', async () => {
  const rates = fc.record({
    requestsPerMinute: fc.integer({ min: 1, max: 10_000 }),
    burst: fc.integer({ min: 1, max: 500 }),
  });
  const connection = redis.connect();
  let opened = 0;
  const patience = AbortSignal.timeout(paced(20_000));
  await fc.assert(
    fc.asyncProperty(rates, async (limits) => {
      const share = openBudgetShare(connection, {
        budget: `client-of-${opened++}`,
        participant: 'greedy',
        limits,
        priority: 'interactive',
      });
      await share.take(patience, limits.burst);
    }),
    { numRuns: 50 },
  );
});
