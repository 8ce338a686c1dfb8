import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { all, COUNT, cycles, holds, reasons, sent, shift, texts, told, wrong } from './correction-world.ts';
import { book } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

describe('when everything begins an hour later at once', () => {
  test('no message leaves, one hold lists all, and it ends automatically once the zone is repaired', async () => {
    const world = await told(redis);
    shift(world, all, 1);
    await cycles(world, 3);
    expect(sent(world)).toBe(0);
    expect(await holds(world)).toEqual([['open', COUNT]]);
    expect((await world.tenant.holds.list())[0]).toMatchObject({ kind: 'corrections', linkCount: COUNT });
    expect(await wrong(world)).toHaveLength(COUNT);
    expect(await reasons(world)).toEqual(['corrections-held']);
    shift(world, all, 0);
    await cycles(world, 3);
    expect({ sent: sent(world), holds: await holds(world), wrong: await wrong(world) }).toEqual({
      sent: 0,
      holds: [],
      wrong: [],
    });
  });

  test('the same when only the zone of the clinic is another one', async () => {
    const world = await told(redis);
    const moved = { id: 'l1', name: 'Studio', address: null, zone: 'Europe/London' };
    world.clinic.locationList.push(moved);
    shift(world, all, 0, { locationId: 'l1' });
    await cycles(world);
    expect([sent(world), await holds(world)]).toEqual([0, [['open', COUNT]]]);
    world.clinic.locationList.splice(0, 1, { ...moved, zone: 'Europe/Rome' });
    await cycles(world);
    expect([sent(world), await holds(world), await wrong(world)]).toEqual([0, [], []]);
  });

  test('the same when the appointments change one after the other', async () => {
    const world = await told(redis);
    for (const index of all) {
      shift(world, [index], -1);
      await world.cycle();
      await world.advance(2 * MINUTE_MS);
    }
    // The first ten are not more than the count allows.
    expect(sent(world)).toBe(10);
    expect(await holds(world)).toEqual([['open', COUNT - 10]]);
  });

  test('the same when each list breaks off before most of them', async () => {
    const world = await told(redis);
    shift(world, all, -1);
    await cycles(world);
    // The patient is told the time that is true at that moment.
    book(world, 'late', 53);
    await cycles(world, 3);
    expect(texts(world).at(-1)).toContain('15:00');
    const before = sent(world);
    book(world, 'late', 51.5);
    for (const index of all) world.clinic.unlisted.add(`a${index}`);
    world.clinic.truncatedAfter = 1;
    await cycles(world);
    expect([sent(world), await holds(world)]).toEqual([before, [['open', COUNT + 1]]]);
  });

  test('the same when each list shows another part of them', async () => {
    const world = await told(redis);
    for (const part of [all.slice(0, 10), all.slice(10)]) {
      shift(world, part, -1);
      world.clinic.unlisted.clear();
      for (const index of all) if (!part.includes(index)) world.clinic.unlisted.add(`a${index}`);
      world.clinic.truncatedAfter = part.length;
      await cycles(world, 0.5);
    }
    expect(sent(world)).toBe(10);
    expect(await holds(world)).toEqual([['open', 10]]);
  });

  test('corrections that wait for the end of the night are held too', async () => {
    const world = await told(redis);
    await world.advance(10 * HOUR_MS);
    shift(world, all.slice(0, 8), -1);
    await world.cycle();
    expect(await reasons(world)).toEqual([null]);
    shift(world, all, -1);
    await cycles(world, 8);
    expect([sent(world), await holds(world)]).toEqual([0, [['open', COUNT]]]);
  });
});
