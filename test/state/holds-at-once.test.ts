import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/model/time.ts';
import { createHoldStore } from '../../src/state/holds.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { useRedis } from '../support/redis.ts';
import { NOW } from '../sync/arbitraries.ts';

const SEALING_KEYS = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

const redis = useRedis();
const CONTEXT = { linkCount: 100, now: NOW, expiresAt: NOW + DAY_MS };

/** Holds whose next reading of the whole list is followed at once by `then`. */
function interrupted(then: () => Promise<unknown>) {
  const connection = redis.connect();
  const hgetall = connection.hgetall.bind(connection);
  let left = 1;
  connection.hgetall = (async (key: string) => {
    const answer = await hgetall(key);
    left -= 1;
    if (left === 0) await then();
    return answer;
  }) as typeof connection.hgetall;
  return createHoldStore(connection, 'studio-rossi', createSealer(SEALING_KEYS, 'studio-rossi'));
}

test.for([
  { what: 'covers other records', recordIds: ['2', '3'] },
  { what: 'has nothing to hold any more', recordIds: [] },
])('a decision stands that comes while a plan $what', async ({ recordIds }) => {
  const holds = createHoldStore(redis.connect(), 'studio-rossi', createSealer(SEALING_KEYS, 'studio-rossi'));
  const hold = await holds.cover('doctor', 'vanished', ['1', '2'], CONTEXT);
  const planner = interrupted(() => holds.decide(hold!.id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS }));
  await planner.cover('doctor', 'vanished', recordIds, CONTEXT);
  expect(await holds.list()).toMatchObject([{ id: hold!.id, state: 'approved', recordIds: ['1', '2'] }]);
});

test('a first run that nobody decided in time can be asked for again', async () => {
  const holds = createHoldStore(redis.connect(), 'studio-rossi', createSealer(SEALING_KEYS, 'studio-rossi'));
  await holds.cover('doctor', 'first-run', ['1'], CONTEXT);
  expect(await holds.expire(NOW + DAY_MS, NOW + 8 * DAY_MS)).toEqual([]);
  const next = await holds.cover('doctor', 'first-run', ['1'], CONTEXT);
  expect(await holds.list()).toEqual([next]);
});
