import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atOnce, eachAtMost, eachInPieces, slices, type Turn } from '../../../src/core/model/pieces.ts';

test('every entry is worked on once and in order', () => {
  fc.assert(
    fc.property(fc.array(fc.integer(), { maxLength: 300 }), (entries) => {
      const done: number[] = [];
      atOnce(eachInPieces(entries, (entry) => done.push(entry)));
      expect(done).toEqual(entries);
    }),
  );
});

test('others may run after each entry, or when the turn is over if the work knows the turn', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { minLength: 1, maxLength: 50 }), (over) => {
      const pieces = (turn: Turn | undefined) => {
        let done = 0;
        const ends: number[] = [];
        const work = eachInPieces(over, () => (done += 1));
        while (work.next(turn).done !== true) ends.push(done);
        return ends;
      };
      const indexes = over.map((_, index) => index + 1);
      expect(pieces(undefined)).toEqual(indexes);
      const remaining = over.slice(1);
      // The work knows the turn after its first piece.
      expect(pieces({ isOver: () => remaining.shift() === true })).toEqual(
        indexes.filter((count) => count === 1 || over[count - 1] === true),
      );
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

describe('work for each of a list, a few at the same time', () => {
  const numbers = Array.from({ length: 10 }, (_, number) => ({ number }));

  test('is done in the order of the list, never more at once than allowed', async () => {
    const begun: number[] = [];
    let [running, most] = [0, 0];
    await eachAtMost(3, numbers, async ({ number }) => {
      begun.push(number);
      running += 1;
      most = Math.max(most, running);
      for (let turn = 0; turn < 1 + (number % 3); turn += 1) await Promise.resolve();
      running -= 1;
    });
    expect(begun).toEqual(numbers.map(({ number }) => number));
    expect([running, most]).toEqual([0, 3]);
  });

  test('begins nothing further after an error, which it throws', async () => {
    const begun: number[] = [];
    const work = eachAtMost(2, numbers, async ({ number }) => {
      begun.push(number);
      await Promise.resolve();
      if (number === 1) throw new Error('the second fails');
    });
    await expect(work).rejects.toThrow('the second fails');
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun.length).toBeLessThan(5);
  });
});
