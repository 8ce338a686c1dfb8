import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CacheBudget, perObject, remembered } from '../../../src/core/model/cache.ts';

function open(entries: number, small = { under: 0, entries: 0 }) {
  const room = new CacheBudget(entries, small);
  const forgotten: string[] = [];
  const kept = new Map<string, { invalidate(): void }>();
  const use = (name: string, size: number) => {
    const one = kept.get(name) ?? { invalidate: () => void forgotten.push(name) };
    kept.set(name, one);
    room.use(one, size);
  };
  return { use, forgotten, room, kept };
}

test('what was used longest ago is forgotten first, as far as room is needed', () => {
  const { use, forgotten } = open(100);
  for (const name of ['a', 'b', 'c']) use(name, 30);
  use('a', 30);
  use('d', 45);
  expect(forgotten).toEqual(['b', 'c']);
});

test('the current size of a value is used when it grows or shrinks', () => {
  const { use, forgotten } = open(100);
  use('a', 90);
  use('a', 10);
  use('b', 90);
  expect(forgotten).toEqual([]);
});

test('what is larger than all of the room is not kept', () => {
  const { use, forgotten } = open(100);
  use('a', 101);
  expect(forgotten).toEqual(['a']);
  use('b', 100);
  expect(forgotten).toEqual(['a']);
});

test('a small value is kept as long as the limit of small values allows, and evicts no other', () => {
  const { use, forgotten } = open(100, { under: 10, entries: 20 });
  for (const name of ['a', 'b', 'c']) use(name, 9);
  expect(forgotten).toEqual(['c']);
  for (const name of ['a', 'b', 'c']) use(name, 9);
  expect(forgotten).toEqual(['c', 'c']);
  use('a', 1);
  use('c', 9);
  expect(forgotten).toEqual(['c', 'c']);
});

test('a small value is evicted for a large one, and frees its space when it grew or is gone', () => {
  const { use, forgotten } = open(100, { under: 10, entries: 10 });
  use('a', 9);
  use('large', 95);
  expect(forgotten).toEqual(['a']);
  use('b', 9);
  expect(forgotten).toEqual(['a', 'large']);
  use('b', 20);
  use('c', 9);
  expect(forgotten).toEqual(['a', 'large']);
});

test('an expensive value is kept however small it is', () => {
  const { use, forgotten, room } = open(100, { under: 10, entries: 0 });
  use('small', 9);
  expect(forgotten).toEqual(['small']);
  const dear = { invalidate: () => void forgotten.push('dear') };
  room.use(dear, 9, { isDear: true });
  use('large', 95);
  expect(forgotten).toEqual(['small', 'dear']);
});

test('never is more kept than there is room, and the one used last is forgotten only when it is too large', () => {
  const uses = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd', 'e'), fc.nat(60)), { maxLength: 60 });
  fc.assert(
    fc.property(uses, (all) => {
      const { use, forgotten } = open(50);
      const sizes = new Map<string, number>();
      for (const [name, size] of all) {
        forgotten.length = 0;
        use(name, size);
        sizes.set(name, size);
        for (const gone of forgotten) sizes.delete(gone);
        expect(sizes.has(name)).toBe(size <= 50);
        expect([...sizes.values()].reduce((sum, one) => sum + one, 0)).toBeLessThanOrEqual(50);
      }
    }),
  );
});

test('what is made of a text is made once while few others come, and again after many', () => {
  const made: string[] = [];
  const lengthOf = remembered(2, (text) => {
    made.push(text);
    return text.length;
  });
  expect(['a', 'bb', 'a', 'bb', 'ccc', 'a'].map(lengthOf)).toEqual([1, 2, 1, 2, 3, 1]);
  expect(made).toEqual(['a', 'bb', 'ccc', 'a']);
});

test('what is made of an object is made once for the same object, even if it is empty, and again for an equal one', () => {
  let made = 0;
  const firstOf = perObject((list: readonly string[]) => {
    made += 1;
    return list[0];
  });
  const [one, none] = [['a'], [] as string[]];
  expect([one, none, one, none, [...one]].map(firstOf)).toEqual(['a', undefined, 'a', undefined, 'a']);
  expect(made).toBe(3);
});
