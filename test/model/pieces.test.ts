import fc from 'fast-check';
import { expect, test } from 'vitest';
import { atOnce, eachInPieces, slices } from '../../src/model/pieces.ts';

test('every entry is worked on once, in order, and others may have their turn after each', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 300 }), (entries) => {
      const done: number[] = [];
      const turns = [...eachInPieces(entries, (entry) => done.push(entry))];
      expect(done).toEqual(entries);
      expect(turns).toHaveLength(entries.length);
    }),
  );
});

test('work that is done without a break gives its result', () => {
  function* work() {
    yield;
    yield;
    return 'result';
  }
  expect(atOnce(work())).toBe('result');
});

test('slices keep the order of a list, and all except the last are full', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 50 }), fc.integer({ min: 1, max: 10 }), (list, size) => {
      const cut = slices(list, size);
      expect(cut.flat()).toEqual(list);
      for (const full of cut.slice(0, -1)) expect(full).toHaveLength(size);
      expect(cut.at(-1)?.length ?? 1).toBeGreaterThan(0);
    }),
  );
});
