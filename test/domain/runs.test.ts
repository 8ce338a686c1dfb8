import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { countsUntil, NO_CHANGES, STORED_HOURS, withChanges } from '../../src/domain/runs.ts';

const START = Date.UTC(2026, 5, 15, 8);

test('every change of the last day is counted once, in its hour, and no earlier change', () => {
  const happened = fc.array(fc.tuple(fc.integer({ min: 0, max: 60 }), fc.integer({ min: 0, max: 50 })), {
    maxLength: 60,
  });
  fc.assert(
    fc.property(happened, fc.integer({ min: 0, max: 40 }), (given, later) => {
      const changes = given.toSorted(([one], [other]) => one - other);
      const hourly = changes.reduce(
        (sum, [hour, count]) => withChanges(sum, START + hour * HOUR_MS + 7, count),
        NO_CHANGES,
      );
      const lastHour = (changes.at(-1)?.[0] ?? 0) + later;
      const expected = Array.from({ length: STORED_HOURS }, (_, index) => {
        const hour = lastHour - STORED_HOURS + 1 + index;
        return changes.reduce((sum, [at, count]) => (at === hour ? sum + count : sum), 0);
      });
      expect(countsUntil(hourly, START + lastHour * HOUR_MS + 3_000)).toEqual(expected);
    }),
  );
});

test('a clock that was set back loses no count', () => {
  const before = withChanges(NO_CHANGES, START, 5);
  const after = withChanges(before, START - 3 * HOUR_MS, 2);
  expect(countsUntil(after, START).at(-1)).toBe(7);
});
