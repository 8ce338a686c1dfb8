import fc from 'fast-check';
import { expect, test } from 'vitest';
import { openBudgetShare, readBudgetUse } from '../../src/state/budget.ts';
import { useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });

const NEVER = new AbortController().signal;
/** Longer than a grant in advance is valid. */
const LATER_MS = 1_000;
/** Enough for every case without a wait. */
const LIMITS = { requestsPerMinute: 60_000, burst: 10_000 };

/** Requests that one tenant sends at once, and the time until the next ones. */
const bursts = fc.array(
  fc.record({
    tenant: fc.integer({ min: 0, max: 1 }),
    count: fc.integer({ min: 1, max: 12 }),
    announced: fc.integer({ min: 0, max: 20 }),
    pauseMs: fc.constantFrom(0, 10, 499, LATER_MS),
  }),
  { maxLength: 12 },
);

test('requests are counted exactly, however many of them ask at once', async () => {
  const time = useFakeTime();
  const connection = redis.connect();
  let run = 0;
  await fc.assert(
    fc.asyncProperty(bursts, async (all) => {
      run += 1;
      const budget = `client-${run}`;
      const shares = ['aurora', 'belvedere'].map((participant) => ({
        participant,
        sent: 0,
        share: openBudgetShare(connection, { budget, participant, limits: LIMITS, priority: 'background' }),
      }));
      for (const { tenant, count, announced, pauseMs } of all) {
        const one = shares[tenant]!;
        one.sent += count;
        one.share.expect(announced);
        await Promise.all(Array.from({ length: count }, () => one.share.take(NEVER)));
        await time.pass(pauseMs);
      }
      await time.pass(LATER_MS);
      // The next question returns what was granted in advance and not used.
      for (const one of shares) {
        one.sent += 1;
        await one.share.take(NEVER);
      }
      const { lastHour, lastDay } = await readBudgetUse(connection, budget);
      for (const { participant, sent } of shares) expect(lastDay.get(participant)).toBe(sent);
      expect(lastHour).toBe(shares.reduce((sum, { sent }) => sum + sent, 0));
    }),
    { numRuns: 30 },
  );
});
