import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { giveBackMemory } from '../../src/composition/give-back.ts';
import { AT_HAND, isWorthPacking, PackedList, PackedMap } from '../../src/model/packed.ts';

const values = fc.array(
  fc.record({ id: fc.string({ unit: 'binary' }), at: fc.integer(), fields: fc.array(fc.string()) }),
  {
    maxLength: 300,
    size: 'max',
  },
);

test('a packed list gives what was put in, in its order, as often as it is asked', () => {
  fc.assert(
    fc.property(values, (all) => {
      const list = new PackedList<(typeof all)[number]>();
      for (const value of all) list.push(value);
      expect(list.length).toBe(all.length);
      expect([...list]).toEqual(all);
      expect(list.map(({ at }) => at)).toEqual(all.map(({ at }) => at));
      expect(list.filter(({ at }) => at > 0)).toEqual(all.filter(({ at }) => at > 0));
    }),
    { numRuns: 30 },
  );
});

test('a packed list holds nothing of what was put in but the last few', async () => {
  const list = new PackedList<{ id: string }>();
  const put: WeakRef<object>[] = [];
  for (let index = 0; index < 200; index += 1) {
    const value = { id: String(index) };
    put.push(new WeakRef(value));
    list.push(value);
  }
  await setImmediate();
  giveBackMemory();
  expect(put.filter((each) => each.deref() !== undefined).length).toBeLessThan(64);
  expect([...list]).toHaveLength(200);
});

test('a packed map answers as the map does, after that is gone too', async () => {
  const entries = (): [string, { at: number }][] => Array.from({ length: 200 }, (_, at) => [`id-${at}`, { at }]);
  const packed = new PackedMap(new Map(entries()));
  const compare = () => {
    const map = new Map(entries());
    expect(packed.size).toBe(map.size);
    expect([...packed]).toEqual([...map]);
    expect([...packed.keys()]).toEqual([...map.keys()]);
    expect([...packed.values()]).toEqual([...map.values()]);
    expect(packed.get('id-7')).toEqual({ at: 7 });
    expect(packed.get('id-200')).toBeUndefined();
    expect([packed.has('id-199'), packed.has('id-200')]).toEqual([true, false]);
    const told: [string, { at: number }][] = [];
    packed.forEach((value, key) => void told.push([key, value]));
    expect(told).toEqual([...map]);
  };
  compare();
  const before = new WeakRef(packed.get('id-7') ?? {});
  await setImmediate();
  giveBackMemory();
  expect(before.deref()).toBeUndefined();
  compare();
});

test('packs beyond what is at hand, but nothing that would take long in one go', () => {
  expect(isWorthPacking(1_000, AT_HAND)).toBe(false);
  expect(isWorthPacking(1_000, AT_HAND + 1)).toBe(true);
  expect(isWorthPacking(AT_HAND + 1, AT_HAND + 1)).toBe(false);
});
