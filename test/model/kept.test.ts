import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeptRoom } from '../../src/model/kept.ts';

function open(entries: number, fewest = 0) {
  const room = new KeptRoom(entries, fewest);
  const forgotten: string[] = [];
  const kept = new Map<string, { forget(): void }>();
  const use = (name: string, size: number) => {
    const one = kept.get(name) ?? { forget: () => void forgotten.push(name) };
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

test('what grows or shrinks counts as it is now', () => {
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

test('what is small takes no room, unless others would be asked for it again', () => {
  const { use, forgotten, room, kept } = open(100, 10);
  use('large', 95);
  use('small', 9);
  expect(forgotten).toEqual(['small']);
  use('large', 9);
  expect(forgotten).toEqual(['small', 'large']);
  use('b', 95);
  const dear = kept.get('small') as { forget(): void };
  room.use(dear, 9, { isDear: true });
  expect(forgotten).toEqual(['small', 'large', 'b']);
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
