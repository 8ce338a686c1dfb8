import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { all, COUNT, cycles, decide, holds, reasons, sent, shift, told, wrong } from './correction-world.ts';

const redis = useRedis({ appendOnly: false });

test('the age of a withdrawn correction starts when it is planned again', async () => {
  const world = await told(redis);
  await world.advance(10 * HOUR_MS);
  for (const hours of [-1, 0]) {
    shift(world, all.slice(0, 8), hours);
    await world.cycle();
  }
  await world.advance(2 * HOUR_MS);
  shift(world, all.slice(0, 8), -1);
  await world.cycle();
  await world.advance(15 * MINUTE_MS);
  shift(world, all, -1);
  await cycles(world, 7);
  expect([sent(world), await holds(world)]).toEqual([0, [['open', COUNT]]]);
});

describe('a decision', () => {
  test('sends all corrections of a true change', async () => {
    const world = await told(redis);
    shift(world, all.slice(0, 15), 0, { status: 'cancelled' });
    await cycles(world);
    expect([sent(world), await holds(world)]).toEqual([0, [['open', 15]]]);
    await decide(world, 'approved');
    await cycles(world);
    expect([sent(world), await holds(world), await wrong(world)]).toEqual([15, [['approved', 15]], []]);
    expect(world.gateway.delivered.slice(COUNT).every(({ correction }) => correction === 'cancelled')).toBe(true);
    // Approved corrections do not count towards the limit of later ones.
    shift(world, [16], -1);
    await cycles(world);
    expect([sent(world), await wrong(world)]).toEqual([16, []]);
  });

  test('is about what the hold said: the same appointments are held again when they change again', async () => {
    const world = await told(redis);
    shift(world, all, -1);
    await cycles(world);
    await decide(world, 'approved');
    await cycles(world);
    expect(sent(world)).toBe(COUNT);
    shift(world, all, -2);
    await cycles(world);
    expect(sent(world)).toBe(COUNT);
    expect(await holds(world)).toEqual(expect.arrayContaining([['open', COUNT]]));
  });

  test('that refuses leaves the patients listed, and sends nothing, reminders of the new time included', async () => {
    const world = await told(redis);
    shift(world, all, 1);
    await cycles(world);
    await decide(world, 'rejected');
    await cycles(world, 5);
    expect([sent(world), await holds(world), await reasons(world)]).toEqual([
      0,
      [['rejected', COUNT]],
      ['corrections-refused'],
    ]);
    shift(world, all, 0);
    await cycles(world);
    expect([sent(world), await wrong(world)]).toEqual([0, []]);
  });
});

test('a few corrections, or a small share, are not held', async () => {
  const few = await told(redis);
  shift(few, all.slice(0, 10), -1);
  await cycles(few);
  expect([sent(few), await holds(few)]).toEqual([10, []]);
  await redis.connect().flushall();
  const share = await told(redis, { correctionGuard: { share: 0.9, count: 10 } });
  shift(share, all.slice(0, 18), -1);
  await cycles(share);
  expect([sent(share), await holds(share)]).toEqual([18, []]);
});
