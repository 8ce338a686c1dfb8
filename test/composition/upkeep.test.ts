import { setImmediate } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { watchStateCounter } from '../../src/composition/upkeep.ts';
import { createLogger } from '../../src/log/create-logger.ts';
import type { Durability } from '../../src/state/redis.ts';
import type { StateCounter, StateCounterView } from '../../src/state/state-counter.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

/** The lines that a start writes. @param told what an earlier start found; `now`: what this one finds */
async function linesOfStart(told: Durability | null, now: Durability): Promise<Record<string, unknown>[]> {
  const view: StateCounterView = {
    durability: told,
    directory: 'kept',
    wentBackAt: null,
    wentBackTo: null,
    writesLostAt: null,
  };
  const epoch: Pick<StateCounter, 'requireIdentity' | 'check' | 'confirm' | 'view'> = {
    requireIdentity: async () => {},
    check: async () => 0,
    confirm: async () => {
      view.durability = now;
      return 0;
    },
    view: async () => ({ ...view }),
  };
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
  const end = await watchStateCounter({ stateCounter: epoch as StateCounter, redis: redis.connect(), log });
  await setImmediate();
  end();
  return lines.map((line) => JSON.parse(line));
}

test('a Redis that does not tell when a decision is on its disk is told of with cause and remedy, once', async () => {
  expect(await linesOfStart(null, 'unsupported')).toMatchObject([
    {
      level: 'warn',
      msg: expect.stringMatching(/older than 7\.2, or the user may not run WAITAOF.*the last second may be lost/),
      remedy: expect.stringContaining('run Redis 7.2 or newer'),
    },
  ]);
  expect(await linesOfStart('unsupported', 'unsupported')).toEqual([]);
  expect(await linesOfStart('durable', 'unsupported')).toHaveLength(1);
  expect(await linesOfStart('unsupported', 'durable')).toEqual([]);
});

test.each(['settle', 'view'] as const)(
  'a start that fails while Redis is asked by %s leaves no rejection and no line',
  async (asked) => {
    const rejections: unknown[] = [];
    const note = (reason: unknown) => rejections.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const pending = Promise.withResolvers<never>();
    const view = {
      durability: null,
      directory: 'kept',
      wentBackAt: null,
      wentBackTo: null,
      writesLostAt: null,
    } as const;
    const epoch: Pick<StateCounter, 'requireIdentity' | 'check' | 'confirm' | 'view'> = {
      requireIdentity: async () => {},
      check: async () => 0,
      confirm: async () => {
        if (asked === 'settle') await pending.promise;
        // What the start itself asks was answered; what comes after it is not.
        epoch.view = () => pending.promise;
        return 0;
      },
      view: async () => view,
    };
    const lines: string[] = [];
    const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
    const end = await watchStateCounter({ stateCounter: epoch as StateCounter, redis: redis.connect(), log });
    await setImmediate();
    end();
    // As ioredis rejects what is pending when its connection is closed.
    pending.reject(new Error('Connection is closed.'));
    await setImmediate();
    expect(rejections).toEqual([]);
    expect(lines).toEqual([]);
  },
);
