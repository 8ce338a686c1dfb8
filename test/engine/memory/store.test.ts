import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { createMemoryState, openMemoryStore } from '../../../src/engine/memory/store.ts';
import { START as NOW, TARGET } from './world.ts';

test('pins end at their time', async () => {
  const { journal } = createMemoryState(() => NOW);
  await journal.pin(TARGET, ['a', 'b'], NOW + 5);
  await journal.pin(TARGET, ['a'], NOW + 3);
  expect(await journal.pinned(TARGET, NOW + 4)).toEqual(new Set(['a', 'b']));
  expect(await journal.pinnedByTarget([TARGET, 'another'], NOW + 4)).toEqual(new Map([[TARGET, new Set(['a', 'b'])]]));
  await journal.unpin(TARGET, ['b']);
  expect(await journal.confirmPins(TARGET, NOW + 5)).toEqual(new Set());
  expect(await journal.pinned(TARGET, NOW)).toEqual(new Set());
});

test('recent objects are known for hours, and what users added for a day', async () => {
  const { recentObjects } = createMemoryState(() => NOW);
  await recentObjects.recordCreated(TARGET, ['a'], NOW);
  await recentObjects.recordRemoved(TARGET, 'b', { additions: 'x', fingerprint: 'f' }, NOW);
  await recentObjects.recordCreated(TARGET, ['b', ...Array.from({ length: 100 }, (_, index) => `${index}`)], NOW);
  expect([...(await recentObjects.read(TARGET, NOW)).keys()]).toEqual(['a', 'b']);
  expect([...(await recentObjects.read(TARGET, NOW + 3 * HOUR_MS)).keys()]).toEqual(['b']);
  expect(await recentObjects.additionsOf(TARGET, 'b')).toBe('x');
  await recentObjects.recordCreated(TARGET, [], NOW + 2 * DAY_MS);
  expect(await recentObjects.additionsOf(TARGET, 'b')).toBeNull();
});

test('objects that a state does not know mean a loss, unless it saw all targets', async () => {
  const { protection } = createMemoryState(() => NOW);
  await protection.foundObjects();
  expect(await protection.uncertainty()).toEqual({ code: 'state-lost', sinceAt: NOW });
  protection.accept();
  await protection.cycleEnded({ allSeen: true });
  await protection.foundObjects();
  expect(await protection.uncertainty()).toBeNull();
  protection.lose('state-went-back');
  expect(await protection.wentBackAt()).toBe(NOW);
});

test('memory is estimated until a count', async () => {
  const { storage } = createMemoryState(() => NOW, 100);
  await storage.add(40);
  expect(await storage.read()).toMatchObject({ addedBytes: 40, limitBytes: 100 });
  await storage.count(NOW);
  expect(await storage.read()).toMatchObject({ addedBytes: 0, countedAt: NOW });
});

test('an equal configuration has one number, and an earlier one takes no lease', async () => {
  const state = createMemoryState(() => NOW);
  const [first, same] = [openMemoryStore(state, 'one'), openMemoryStore(state, 'one')];
  expect([await first.configVersion.newest(), await first.configVersion.join()]).toEqual([
    { number: 0, isOurs: true },
    1,
  ]);
  expect(await same.configVersion.join()).toBe(1);
  expect(await openMemoryStore(state, 'two').configVersion.join()).toBe(2);
  await expect(first.leases.tryTake('plan')).rejects.toMatchObject({ code: 'configuration-superseded' });
});
