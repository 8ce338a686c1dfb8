import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Backoff, exponentialBackoffMs } from '../../../src/core/model/backoff.ts';

const fractions = fc.double({ min: 0, max: 0.999_999, noNaN: true });
const backoffs: fc.Arbitrary<Required<Backoff>> = fc.record({
  firstMs: fc.integer({ min: 1, max: 60_000 }),
  longestMs: fc.integer({ min: 1, max: 3_600_000 }),
  jitter: fc.constantFrom(0, 0.5, 1),
});

test('waits double from the first, up to the longest', () => {
  const waits = [0, 1, 2, 3, 4].map((failures) =>
    exponentialBackoffMs({ firstMs: 100, longestMs: 1_000 }, failures, () => 0.5),
  );
  expect(waits).toEqual([100, 200, 400, 800, 1_000]);
});

test('chance takes away its part of a wait, of the longest too', () => {
  const waits = [0, 0.5, 0.999_999].map((fraction) =>
    exponentialBackoffMs({ firstMs: 100, longestMs: 1_000, jitter: 0.5 }, 50, () => fraction),
  );
  expect(waits).toEqual([500, 750, 999]);
});

test('a delay is a whole number, never longer than the longest, and never shorter than the jitter allows', () => {
  fc.assert(
    fc.property(backoffs, fc.nat(5_000), fractions, (backoff, failures, fraction) => {
      const waitMs = exponentialBackoffMs(backoff, failures, () => fraction);
      const wholeMs = Math.min(backoff.firstMs * 2 ** failures, backoff.longestMs);
      expect(Number.isSafeInteger(waitMs)).toBe(true);
      expect(waitMs).toBeLessThanOrEqual(backoff.longestMs);
      expect(waitMs).toBeGreaterThanOrEqual(Math.floor(wholeMs * (1 - backoff.jitter)));
    }),
  );
});

test('with equal jitter no delay is shorter than the previous one, nor more than twice as long', () => {
  fc.assert(
    fc.property(backoffs, fc.nat(5_000), fractions, (backoff, failures, fraction) => {
      const [before, after] = [failures, failures + 1].map((count) =>
        exponentialBackoffMs(backoff, count, () => fraction),
      ) as [number, number];
      expect(after).toBeGreaterThanOrEqual(before);
      expect(after).toBeLessThanOrEqual(2 * (before + 1));
    }),
  );
});
