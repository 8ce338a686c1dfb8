import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { watchEpoch } from '../../src/composition/upkeep.ts';
import { createLogger } from '../../src/log/create-logger.ts';
import type { Durability } from '../../src/state/durability.ts';
import type { EpochView, StateEpoch } from '../../src/state/epoch.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

/** The lines that a start writes. @param told what an earlier start found; `now`: what this one finds */
async function linesOfStart(told: Durability | null, now: Durability): Promise<Record<string, unknown>[]> {
  const view: EpochView = {
    durability: told,
    directory: 'kept',
    wentBackAt: null,
    wentBackTo: null,
    writesLostAt: null,
  };
  const epoch: Pick<StateEpoch, 'requireIdentity' | 'check' | 'settle' | 'view'> = {
    requireIdentity: async () => {},
    check: async () => 0,
    settle: async () => {
      view.durability = now;
      return 0;
    },
    view: async () => ({ ...view }),
  };
  const lines: string[] = [];
  const log = createLogger({ level: 'info', destination: { write: (line) => lines.push(line) } });
  const end = await watchEpoch({ epoch: epoch as StateEpoch, redis: redis.connect(), log });
  await setImmediate();
  end();
  return lines.map((line) => JSON.parse(line));
}

test('a Redis that does not tell when a decision is on its disk is told of with cause and remedy, once', async () => {
  expect(await linesOfStart(null, 'unsupported')).toMatchObject([
    {
      level: 'warn',
      msg: expect.stringMatching(/older than 7\.2 or does not let us use WAITAOF.*the last second may be lost/),
      remedy: expect.stringContaining('run Redis 7.2 or newer'),
    },
  ]);
  expect(await linesOfStart('unsupported', 'unsupported')).toEqual([]);
  expect(await linesOfStart('durable', 'unsupported')).toHaveLength(1);
  expect(await linesOfStart('unsupported', 'durable')).toEqual([]);
});
