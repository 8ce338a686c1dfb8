import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { type Confirmation, nothingMissing } from '../../src/engine/absence.ts';
import { planCycle } from '../../src/engine/cycle.ts';
import { saysMore } from '../../src/engine/load.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, targetOf } from '../tenant/cycle.ts';
import { openCalendarWorld, openCrmWorld } from '../tenant/world.ts';

const redis = useRedis();

describe('a plan preview', () => {
  test('writes nothing, whatever it finds', async () => {
    const connection = redis.connect();
    const { model, tenant } = openCalendarWorld(redis, 3);
    const look = () => planCycle(tenant, { lease: null, progress: () => {} }, NEVER);
    expect((await look()).plans[0]?.permitted).toHaveLength(3);
    await cycle(tenant);
    await redis.connect().hdel('cm:{studio-rossi}:target:doctor', 'adoptedAt');
    model.wholeTargetError = new MirrorError('x', { actor: 'authorization', code: 'login-refused', retry: 'never' });
    const before = await Promise.all(
      (await connection.keys('*')).sort().map(async (key) => [key, await connection.dump(key)]),
    );
    await look();
    const after = await Promise.all(
      (await connection.keys('*')).sort().map(async (key) => [key, await connection.dump(key)]),
    );
    expect(after).toEqual(before);
    expect(model.calls.operations).toBe(3);
  });
});

describe('individual fetches say more about targets that rest', () => {
  const says = (learned: Partial<Confirmation<{ id: string }>>) => {
    const { tenant } = openCrmWorld(redis);
    const confirmations = { appointments: { ...nothingMissing<{ id: string }>(), ...learned } };
    return ['activities', 'contacts'].map((id) => saysMore(confirmations, [targetOf(tenant, id)]));
  };

  test.each([
    ['exists', { found: [{ id: '1' }] }],
    ['is unusable', { unusable: new Set(['1']) }],
    ['is gone', { vanished: new Set(['1']) }],
    ['was missed once', { missedOnce: new Set(['1']) }],
    ['is kept by a hold', { held: new Set(['1']) }],
  ])('if a record of their stream %s', (_, learned) => {
    expect(says(learned)).toEqual([true, false]);
  });

  test('but not if no record was fetched, or the fetch had no usable answer', () => {
    expect(says({})).toEqual([false, false]);
    expect(says({ faults: new Map([['server-error', 1]]), unconfirmed: 1 })).toEqual([false, false]);
  });
});
