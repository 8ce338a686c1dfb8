import fc from 'fast-check';
import { expect, test } from 'vitest';
import { measuredPace, PACE_VARIABLE, paced, paceOf } from './pace.ts';

test.each([
  ['usual', { usedMs: 30, load: 0, cores: 2 }, 1],
  ['fast', { usedMs: 3, load: 1, cores: 16 }, 1],
  ['2.4 times slower', { usedMs: 72, load: 2, cores: 2 }, 2.4],
  ['busy with six processes on two cores', { usedMs: 30, load: 6, cores: 2 }, 3],
  ['slow and busy', { usedMs: 60, load: 3, cores: 2 }, 3],
  ['hardly moving', { usedMs: 3_000, load: 90, cores: 2 }, 10],
])('the pace of a %s host', (_, seen, pace) => {
  expect(paceOf(seen)).toBe(pace);
});

test('the pace is between 1 and 10', () => {
  const positive = fc.double({ min: 0, max: 1e6, noNaN: true });
  fc.assert(
    fc.property(positive, positive, fc.integer({ min: 1, max: 256 }), (usedMs, load, cores) => {
      const pace = paceOf({ usedMs, load, cores });
      expect(pace).toBeGreaterThanOrEqual(1);
      expect(pace).toBeLessThanOrEqual(10);
    }),
  );
});

test('a nested run inherits the pace; a run without a pace measures it', () => {
  expect(measuredPace({ [PACE_VARIABLE]: '2.5' })).toBe(2.5);
  expect(measuredPace({})).toBeGreaterThanOrEqual(1);
});

test('a limit grows with the pace, and is unchanged without a pace', () => {
  expect(paced(1_001, { [PACE_VARIABLE]: '2.5' })).toBe(2_503);
  expect(paced(1_000, {})).toBe(1_000);
  expect(paced(1_000)).toBe(1_000 * Number(process.env[PACE_VARIABLE]));
});
