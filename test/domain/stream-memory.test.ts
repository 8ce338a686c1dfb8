import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { createListSize, isBelievable } from '../../src/domain/stream-memory.ts';
import { NOW } from './arbitraries.ts';

describe('a whole list', () => {
  /** The list after a first fetch of this many rows. */
  const readOnce = (count: number) => {
    const size = createListSize();
    expect(isBelievable(size, count, NOW)).toBe(true);
    return size;
  };

  test.each([
    ['of 20 rows loses 10: at most ten are a day’s work', 20, 10, true],
    ['of 20 rows loses 11: more than ten, and more than a fifth', 20, 9, false],
    ['of 100 rows loses 20: at most a fifth', 100, 80, true],
    ['of 100 rows loses 21', 100, 79, false],
    ['grows', 20, 400, true],
    ['was empty', 0, 0, true],
  ])('that %s', (_, before, now, isBelieved) => {
    expect(isBelievable(readOnce(before), now, NOW)).toBe(isBelieved);
  });

  test('that shrank is believed after a day, and not a moment before', () => {
    const size = readOnce(100);
    expect(isBelievable(size, 50, NOW)).toBe(false);
    expect(isBelievable(size, 50, NOW + DAY_MS - 1)).toBe(false);
    expect(isBelievable(size, 50, NOW + DAY_MS)).toBe(true);
    expect(size).toEqual({ count: 50, sinceAt: null });
  });

  test('that is whole again in between begins its day again', () => {
    const size = readOnce(100);
    expect(isBelievable(size, 50, NOW)).toBe(false);
    expect(isBelievable(size, 100, NOW + HOUR_MS)).toBe(true);
    expect(isBelievable(size, 50, NOW + 2 * HOUR_MS)).toBe(false);
    expect(isBelievable(size, 50, NOW + DAY_MS + HOUR_MS)).toBe(false);
    expect(isBelievable(size, 50, NOW + DAY_MS + 2 * HOUR_MS)).toBe(true);
  });
});
