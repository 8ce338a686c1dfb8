import { describe, expect, test, vi } from 'vitest';
import { openBudgetShare, type Priority } from '../../src/state/budget.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';

const NEVER = new AbortController().signal;
const LIMITS = { requestsPerMinute: 60, burst: 20 };
/** Between two requests at {@link LIMITS}, with what their way varies. */
const INTERVAL_MS = 61_500 / 61;
type Answer = [waitMs: number, isPause: number, isTrial: number, ahead?: number, delayMs?: number];

/** A share whose questions Redis answers so, in this order. */
function open(priority: Priority, ...answers: Answer[]) {
  const waits: ('begun' | 'over')[] = [];
  const whileInLine = async <Given>(wait: () => Promise<Given>) => {
    waits.push('begun');
    const given = await wait();
    waits.push('over');
    return given;
  };
  const time = useFakeTime();
  const run = vi.fn(async (..._given: unknown[]) => {
    const [waitMs, isPause, isTrial, ahead = 0, delayMs = 0] = answers.shift() ?? [];
    return [waitMs, isPause, isTrial, ahead, delayMs];
  });
  const hdel = vi.fn(async () => 1);
  const redis = { eval: run, hdel } as unknown as RedisClient;
  const share = openBudgetShare(
    redis,
    { budget: 'client-1', participant: 'tenant', limits: LIMITS, priority },
    { whileInLine },
  );
  const asked = async (count: number) =>
    untilSeen(() => run.mock.settledResults.length === count && vi.getTimerCount() > 0, 'the pause');
  return { share, run, hdel, time, asked, waits };
}

/** Units that the first question asked for. */
function unitsOf({ run }: ReturnType<typeof open>): unknown {
  const given = run.mock.calls[0] ?? [];
  return given[given.indexOf('tenant') + 6];
}

const GRANTED: Answer = [0, 0, 0];

describe('a share of a budget', () => {
  test('reports that it is queued from the first such answer until the grant, however often it asks', async () => {
    const { share, time, asked, waits } = open('background', GRANTED, [1_000, 0, 0], [1_000, 0, 0], GRANTED);
    await share.take(NEVER);
    expect(waits).toEqual([]);
    const taking = share.take(NEVER);
    await asked(2);
    expect(waits).toEqual(['begun']);
    await time.pass(1_000);
    await asked(3);
    expect(waits).toEqual(['begun']);
    await time.pass(1_000);
    await taking;
    expect(waits).toEqual(['begun', 'over']);
  });

  test('requests at most the units available at once: background work leaves a tenth to users', async () => {
    for (const [priority, units, taken] of [
      ['background', 1_000, 18],
      ['interactive', 1_000, 20],
      ['background', 7, 7],
      ['background', 0, 1],
    ] as const) {
      const opened = open(priority, GRANTED);
      await opened.share.take(NEVER, units);
      expect(unitsOf(opened)).toBe(taken);
    }
  });

  test('asks again after a quarter of its wait, and after a second at the earliest', async () => {
    const { share, run, time, asked } = open('background', [20_000, 0, 0], [2_000, 0, 0], [300, 0, 0], GRANTED);
    const taken = share.take(NEVER);
    for (const [index, pauseMs] of [5_000, 1_000, 300].entries()) {
      await asked(index + 1);
      await time.pass(pauseMs - 1);
      expect(run).toHaveBeenCalledTimes(index + 1);
      await time.pass(1);
    }
    await taken;
    expect(run).toHaveBeenCalledTimes(4);
  });

  test('allows a user’s request to wait for half a minute in total, and no longer', async () => {
    const { share, time, asked } = open('interactive', [30_000, 0, 0], [22_500, 0, 0], GRANTED);
    const taken = share.take(NEVER);
    await asked(1);
    await time.pass(7_500);
    await asked(2);
    await time.pass(5_625);
    await taken;
    const longer = open('interactive', [30_001, 0, 0]);
    await expect(longer.share.take(NEVER)).rejects.toMatchObject({
      message: 'the request budget of the application is currently used up',
      code: 'budget-exhausted',
      retryAfterMs: 30_001,
      remedy: expect.stringContaining('try again in 31 s;'),
    });
    expect(longer.hdel).toHaveBeenCalledTimes(1);
  });

  test('waits through a pause of half a minute, and reports a longer one in seconds, then in minutes', async () => {
    const { share, time, asked } = open('background', [30_000, 1, 0], GRANTED);
    const taken = share.take(NEVER);
    await asked(1);
    await time.pass(7_500);
    await taken;
    for (const [waitMs, words] of [
      [30_001, '31 s'],
      [120_000, '120 s'],
      [120_001, '3 min'],
      [600_000, '10 min'],
    ] as const) {
      await expect(open('background', [waitMs, 1, 0]).share.take(NEVER)).rejects.toMatchObject({
        message: 'the vendor asked clinic-mirror to wait',
        code: 'budget-paused',
        remedy: expect.stringContaining(`wait: the daemon sends one request in ${words};`),
      });
    }
  });

  test('releases its place when it must not wait, also while Redis is unavailable', async () => {
    const { share, hdel } = open('background', [60_000, 1, 0]);
    hdel.mockRejectedValue(new Error('away'));
    await expect(share.take(NEVER)).rejects.toMatchObject({ code: 'budget-paused' });
    expect(hdel).toHaveBeenCalledTimes(1);
  });

  test('reports the answer to a trial once, and no other answer', async () => {
    const { share, run } = open('background', GRANTED, [0, 0, 1], GRANTED);
    await share.accepted();
    await share.take(NEVER);
    await share.accepted();
    expect(run).toHaveBeenCalledTimes(1);
    await share.take(NEVER);
    await share.accepted();
    await share.accepted();
    expect(run).toHaveBeenCalledTimes(3);
  });

  test('gets the following requests granted in one query, as many as have followed, and returns unused grants', async () => {
    const one: Answer = [0, 0, 0, 1];
    const three: Answer = [0, 0, 0, 3];
    const opened = open('background', GRANTED, one, three, three, GRANTED, GRANTED);
    const { share, run, time } = opened;
    const questions = () => run.mock.calls.map((given) => given.slice(-3, -1));
    for (let request = 0; request < 8; request += 1) await share.take(NEVER);
    expect(questions()).toEqual([
      [0, 0],
      [1, 0],
      [3, 0],
      [3, 0],
    ]);
    await time.pass(499);
    await share.take(NEVER);
    expect(run).toHaveBeenCalledTimes(4);
    await time.pass(1);
    await share.take(NEVER);
    expect(questions().at(-1)).toEqual([0, 2]);
    await share.take(NEVER);
    expect(questions().at(-1)).toEqual([1, 0]);
  });

  test('counts advance grants from their request, and gets none after a refusal', async () => {
    const { share, run, time } = open('background', GRANTED, [0, 0, 0, 1], GRANTED, [0, 0, 0, 3], GRANTED, GRANTED);
    await share.take(NEVER);
    const taking = share.take(NEVER);
    // The process is suspended before it reads the answer.
    time.jump(500);
    await taking;
    await share.take(NEVER);
    expect(run).toHaveBeenCalledTimes(3);
    await share.take(NEVER);
    await share.refused(1_000);
    await share.take(NEVER);
    expect(run).toHaveBeenCalledTimes(6);
  });

  test('asks once for announced requests, which wait for the answer', async () => {
    const { share, run } = open('background', GRANTED, [0, 0, 0, 15]);
    await share.take(NEVER);
    share.expect(16);
    await Promise.all(Array.from({ length: 16 }, () => share.take(NEVER)));
    expect(run.mock.calls.map((given) => given.at(-3))).toEqual([0, 15]);
  });

  test('asks for each announced request where the budget grants none in advance', async () => {
    const { share, run, time, asked } = open('background', [1_000, 0, 0], GRANTED, GRANTED, GRANTED);
    share.expect(3);
    const taking = Promise.all([share.take(NEVER), share.take(NEVER), share.take(NEVER)]);
    await asked(3);
    await time.pass(1_000);
    await taking;
    expect(run.mock.calls.map((given) => given.at(-3))).toEqual([2, 0, 0, 0]);
  });

  test('asks for each announced request where the question fails', async () => {
    const { share, run } = open('background', GRANTED, GRANTED);
    run.mockRejectedValueOnce(new Error('Connection is closed.'));
    share.expect(3);
    const results = await Promise.allSettled([share.take(NEVER), share.take(NEVER), share.take(NEVER)]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(run).toHaveBeenCalledTimes(3);
  });

  test.each([
    { delayMs: 0, passedMs: 2_000, idleMs: 2_000 - INTERVAL_MS },
    { delayMs: 500, passedMs: 2_000, idleMs: 2_000 - 500 - INTERVAL_MS },
    { delayMs: 3_000, passedMs: 2_000, idleMs: 0 },
    { delayMs: 0, passedMs: 10_000, idleMs: 3 * INTERVAL_MS },
  ])(
    'returns unused grants with their delay, less the time in which the budget would be idle: $delayMs, $passedMs ms',
    async ({ delayMs, passedMs, idleMs }) => {
      const { share, run, time } = open('background', [0, 0, 0, 3, delayMs], GRANTED);
      share.expect(4);
      await share.take(NEVER);
      await time.pass(passedMs);
      await share.take(NEVER);
      expect(run.mock.calls.at(-1)?.slice(-2)).toEqual([3, expect.closeTo(3 * INTERVAL_MS - idleMs, 3)]);
    },
  );

  test('returns unused grants of two questions at once as if none of them had been granted', async () => {
    const both: Answer[] = [
      [0, 0, 0, 3, 0],
      [0, 0, 0, 1, 4 * INTERVAL_MS],
    ];
    const { share, run, time } = open('background', ...both, GRANTED);
    await Promise.all([share.take(NEVER), share.take(NEVER)]);
    await time.pass(3_000);
    await share.take(NEVER);
    const idleMs = 3_000 - 2 * INTERVAL_MS;
    expect(run.mock.calls.at(-1)?.slice(-2)).toEqual([4, expect.closeTo(4 * INTERVAL_MS - idleMs, 3)]);
  });

  test('asks separately for requests that cost more than a unit', async () => {
    const { share, run } = open('background', GRANTED, [0, 0, 0, 1], GRANTED);
    await share.take(NEVER);
    await share.take(NEVER);
    await share.take(NEVER, 2);
    expect(run).toHaveBeenCalledTimes(3);
  });

  test('does not take an answer for the trial’s once that was refused', async () => {
    const { share, run } = open('background', [0, 0, 1]);
    await share.take(NEVER);
    await share.refused(5_000);
    await share.accepted();
    expect(run).toHaveBeenCalledTimes(2);
  });
});
