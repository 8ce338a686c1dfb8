import { vi } from 'vitest';
import type { BudgetShare } from '../../src/state/budget.ts';
import { openBudgetShare, type Priority } from '../../src/state/budget.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';
import { moveBudget } from './budget-moves.ts';

/** A budget whose minutes pass at once: Redis' own clock can't be set, so what it has noted is moved into the past instead. */
export function useBudget(connect: () => RedisClient, limits: { requestsPerMinute: number; burst: number }) {
  const time = useFakeTime();
  const redis = connect();
  const asked: { settled: boolean }[] = [];
  const granted: string[] = [];
  const failed: { who: string; error: unknown }[] = [];

  /** Waits until every pending query is answered. */
  async function settled(): Promise<void> {
    await untilSeen(() => asked.every((one) => one.settled), 'Redis to answer');
    await new Promise((resolve) => setImmediate(resolve));
    if (!asked.every((one) => one.settled)) await settled();
  }

  const move = (ms: number) => moveBudget(redis, 'client-1', ms);

  /** Opens a separate connection, as in another process. `isDead`: the process sends no more queries. */
  function connectTold(dead: { isDead: boolean } = { isDead: false }): RedisClient {
    const connection = connect();
    for (const command of ['eval', 'hdel'] as const) {
      const run = connection[command].bind(connection) as (...args: unknown[]) => Promise<never>;
      vi.spyOn(connection, command).mockImplementation((...args: unknown[]) => {
        if (dead.isDead) return new Promise(() => {});
        const question = { settled: false };
        asked.push(question);
        return run(...args).finally(() => {
          question.settled = true;
        });
      });
    }
    return connection;
  }

  function open(who: string, priority: Priority = 'background', dead?: { isDead: boolean }) {
    return openBudgetShare(connectTold(dead), { budget: 'client-1', participant: who, limits, priority });
  }

  return {
    redis,
    connect: connectTold,
    granted,
    failed,
    open,
    settled,
    /** Sends a request, and resolves when it is queued or granted. */
    async ask(who: string, share: BudgetShare = open(who), { units = 1, signal = new AbortController().signal } = {}) {
      share.take(signal, units).then(
        () => void granted.push(who),
        (error: unknown) => void failed.push({ who, error }),
      );
      await settled();
    },
    /** Sets the clock of Redis back: recorded times lie this much further in the future. */
    putBack: (ms: number) => move(-ms),
    /** Lets minutes pass, second by second, as all processes see them. */
    async pass(ms: number, stepMs = 1_000) {
      for (let left = ms; left > 0; left -= stepMs) {
        const step = Math.min(left, stepMs);
        await move(step);
        await time.pass(step);
        await settled();
      }
    },
  };
}
