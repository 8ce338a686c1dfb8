import fc from 'fast-check';
import { expect, test } from 'vitest';
import { hasPassed, overlaps } from '../../src/model/time.ts';

const WINDOW = { fromAt: 100, toAt: 200 };

test.each([
  ['ends as the window begins', 50, 100, false, true],
  ['ends one millisecond later', 50, 101, true, false],
  ['is around the window', 50, 250, true, false],
  ['begins one millisecond before the end', 199, 250, true, false],
  ['begins at the end', 200, 250, false, false],
  ['is a moment at the start', 100, 100, true, false],
  ['is a moment just before the start', 99, 99, false, true],
  ['ends before it begins, inside', 150, 120, true, false],
])('a span that %s', (_, startAt, endAt, isInside, isPast) => {
  expect([overlaps({ startAt, endAt }, WINDOW), hasPassed({ startAt, endAt }, WINDOW)]).toEqual([isInside, isPast]);
});

test('of windows that follow each other every span is in at least one, and a moment in exactly one', () => {
  const at = fc.integer({ min: 0, max: 99 });
  fc.assert(
    fc.property(at, at, fc.integer({ min: 1, max: 99 }), (one, other, cut) => {
      const windows = [
        { fromAt: 0, toAt: cut },
        { fromAt: cut, toAt: 100 },
      ];
      const inside = (startAt: number, endAt: number) =>
        windows.filter((window) => overlaps({ startAt, endAt }, window)).length;
      expect(inside(Math.min(one, other), Math.max(one, other))).toBeGreaterThan(0);
      expect(inside(one, one)).toBe(1);
    }),
  );
});
