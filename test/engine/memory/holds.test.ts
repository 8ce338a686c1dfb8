import { expect, test } from 'vitest';
import { MemoryHolds } from '../../../src/engine/memory/holds.ts';

const context = { linkCount: 9, exceededIn: null, now: 1, expiresAt: 5 };

async function shortOf(holds: MemoryHolds) {
  return (await holds.list()).map(({ kind, state, recordIds }) => `${kind} ${state} ${recordIds.join()}`);
}

test('one open hold of a target and kind covers the records, and closes without any', async () => {
  const holds = new MemoryHolds();
  await holds.cover('t', 'vanished', [], context);
  await holds.cover('t', 'vanished', ['a'], context);
  await holds.cover('t', 'vanished', ['a', 'b'], context);
  await holds.cover('t', 'cancelled', ['c'], context);
  expect(await shortOf(holds)).toEqual(['vanished open a,b', 'cancelled open c']);
  await holds.cover('t', 'cancelled', [], context);
  expect(await shortOf(holds)).toEqual(['vanished open a,b']);
});

test('a decision stays until it expires; an expired open hold is rejected, and a first run is asked again', async () => {
  const holds = new MemoryHolds();
  await holds.cover('t', 'vanished', ['a'], context);
  await holds.cover('t', 'first-run', ['b'], context);
  expect(await holds.decide('none', { state: 'approved', now: 2, expiresAt: 9 })).toBe(false);
  expect(await holds.expire(4, 20)).toEqual([]);
  expect((await holds.expire(5, 20)).map(({ kind }) => kind)).toEqual(['vanished']);
  expect(await shortOf(holds)).toEqual(['vanished rejected a']);
  await holds.cover('t', 'vanished', ['c'], context);
  const [, open] = await holds.list();
  expect(await holds.decide(open?.id ?? '', { state: 'approved', now: 2, expiresAt: 9 })).toBe(true);
  await holds.expire(30, 40);
  expect(await holds.list()).toEqual([]);
});
