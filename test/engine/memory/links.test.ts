import { expect, test } from 'vitest';
import { createMemoryState } from '../../../src/engine/memory/store.ts';
import { START as NOW, TARGET } from './world.ts';

const linkOf = (recordId: string) => ({
  ...{
    recordId,
    fingerprint: 'f',
    startAt: NOW,
    endAt: NOW,
    versionTag: null,
    idAttempt: 0,
    remoteId: null,
    drift: null,
  },
});

async function open() {
  const { links, leases } = createMemoryState(() => NOW);
  const lease = await leases.tryTake('lane');
  if (lease === null) throw new Error('the lease is busy');
  return { links, lease };
}

test('readers keep the links that they read, and each change has a version', async () => {
  const { links, lease } = await open();
  expect(links.versionOf(TARGET)).toBeNull();
  await links.writeAll(TARGET, [linkOf('a'), linkOf('b')], lease);
  const before = await links.read(TARGET);
  expect(await links.read(TARGET)).toBe(before);
  await links.release(TARGET, ['a'], lease);
  expect([before.size, await links.count(TARGET), links.versionOf(TARGET)]).toEqual([2, 1, '2']);
  await links.clear(TARGET, lease);
  expect(await links.count(TARGET)).toBe(0);
});

test('times are set only in links of the same content', async () => {
  const { links, lease } = await open();
  const rebuilt = { ...linkOf('a'), unmarked: true as const, isRebuilt: true as const };
  await links.writeAll(TARGET, [rebuilt, linkOf('b')], lease);
  const timed = { startAt: NOW + 1, endAt: NOW + 2 };
  const times = ['a', 'b', 'c'].map((recordId) => ({ recordId, fingerprint: recordId === 'b' ? 'g' : 'f', ...timed }));
  await links.recordTimes(TARGET, times, lease);
  const all = await links.read(TARGET);
  expect(all.get('a')).toEqual({ ...linkOf('a'), ...timed, unmarked: true });
  expect(all.get('b')).toEqual(linkOf('b'));
});

test('drift is found by its index', async () => {
  const { links, lease } = await open();
  await links.nameDrifted(TARGET, new Set(['a', 'b']));
  await links.writeAll(TARGET, [{ ...linkOf('a'), drift: 'edited' }, linkOf('b')], lease);
  expect((await links.drifted(TARGET)).map(({ recordId }) => recordId)).toEqual(['a']);
});
