import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { createMemoryState } from '../../../src/engine/memory/store.ts';
import { START as NOW, TARGET } from './world.ts';

const GONE = { cancelled: 0, excluded: 0, vanished: 1, released: 0, restored: 0 };

function open() {
  const clock = { now: NOW };
  return { ...createMemoryState(() => clock.now), clock };
}

test('departures are counted for an hour and for a week', async () => {
  const { targetStore } = open();
  await targetStore.recordGone(TARGET, GONE, NOW);
  await targetStore.recordGone(TARGET, GONE, NOW + 1);
  const counted = async (at: number) => {
    const { hour, week } = await targetStore.gone(TARGET, at);
    return [hour.vanished, week.vanished];
  };
  expect(await counted(NOW + 1)).toEqual([2, 2]);
  expect(await counted(NOW + 3 * HOUR_MS)).toEqual([0, 2]);
  expect(await counted(NOW + 8 * DAY_MS)).toEqual([0, 0]);
  await targetStore.recordGone(TARGET, GONE, NOW + 8 * DAY_MS);
  expect(await counted(NOW + 8 * DAY_MS)).toEqual([1, 1]);
});

test('restorations are counted for a day, misses expire after a week', async () => {
  const { clock, targetStore } = open();
  await targetStore.countRestorations(TARGET, ['a', 'a'], NOW);
  expect(await targetStore.restorations(TARGET, NOW)).toEqual(new Map([['a', 2]]));
  expect(await targetStore.restorations(TARGET, NOW + DAY_MS)).toEqual(new Map());
  await targetStore.storeMisses('rows', new Map([['a', NOW]]));
  expect(await targetStore.misses('rows')).toEqual(new Map([['a', NOW]]));
  clock.now += 7 * DAY_MS;
  expect(await targetStore.misses('rows')).toEqual(new Map());
});

test('a plan without changes proves freshness only for a target as it was looked at', async () => {
  const { targetStore, leases, links } = open();
  const lease = await leases.tryTake('plan');
  if (lease === null) throw new Error('the lease is busy');
  await targetStore.write(TARGET, { container: 'c', adoptedAt: NOW, unconfirmed: 2 });
  const idle = { plannedAt: NOW, plannedUnder: 1, asOf: NOW, tookMs: 0 };
  await targetStore.recordIdle(new Map([[TARGET, null]]), { ...idle, plannedUnder: 7, asOf: null }, lease);
  expect(await targetStore.read(TARGET)).toMatchObject({ plannedUnder: 7 });
  links.change(TARGET, new Map());
  await targetStore.recordIdle(new Map([[TARGET, null]]), { ...idle, plannedUnder: 8 }, lease);
  expect(await targetStore.read(TARGET)).toMatchObject({ plannedUnder: 7 });
  await targetStore.recordIdle(new Map([[TARGET, '0']]), idle, lease);
  expect(await targetStore.read(TARGET)).toMatchObject({ plannedAsOf: null, unconfirmed: 2 });
  await targetStore.recordIdle(new Map([[TARGET, '1']]), { ...idle, asOf: null }, lease);
  expect(await targetStore.read(TARGET)).toMatchObject({ plannedAsOf: null, plannedUnder: 1, unconfirmed: 2 });
  await targetStore.recordIdle(new Map([[TARGET, '1']]), idle, lease);
  expect(await targetStore.read(TARGET)).toMatchObject({ idleAsOf: NOW, unconfirmed: 0 });
});

test('an overtaken plan proves nothing', async () => {
  const { targetStore } = open();
  await targetStore.recordFreshness(TARGET, 0, { plannedAsOf: NOW, tookMs: 0, isIdle: false });
  expect(await targetStore.read(TARGET)).toMatchObject({ plannedAsOf: NOW, idleAsOf: null });
  await targetStore.recordOvertaken(TARGET);
  await targetStore.recordFreshness(TARGET, 0, { plannedAsOf: NOW, tookMs: 0, isIdle: true });
  expect(await targetStore.read(TARGET)).toMatchObject({ plannedAsOf: null, idleAsOf: null, overtaken: 1 });
});
