import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isNearDue, paceOf } from '../../src/jobs/pace.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/model/time.ts';
import { FIRST_PACE, type Pace } from '../../src/state/runs.ts';

const EVERY_MS = 5 * MINUTE_MS;

/** The pace after cycles that began so long after each other, as reports carry it on. */
function paceAfter(intervalsMs: readonly number[], from: Partial<Pace> = {}): Pace {
  let startedAt = 0;
  let pace: Pace = { ...FIRST_PACE, isPlain: true, ...from };
  for (const intervalMs of intervalsMs) {
    const before = { pace, startedAt };
    startedAt += intervalMs;
    pace = paceOf(before, startedAt, EVERY_MS);
  }
  return pace;
}

describe('every cycle reads all', () => {
  test('at first, and while cycles begin in time', () => {
    expect(isNearDue(paceOf(undefined, 0, EVERY_MS))).toBe(false);
    const inTime = fc.array(fc.integer({ min: 0, max: EVERY_MS * 1.1 }));
    fc.assert(fc.property(inTime, (intervals) => paceAfter(intervals).nearPerWhole === 0));
  });

  test('after one late cycle, as of a machine that stood still, and when the clock is put back', () => {
    const stoodStill = [10 * EVERY_MS, EVERY_MS, EVERY_MS, EVERY_MS];
    expect(paceAfter([...stoodStill, ...stoodStill]).nearPerWhole).toBe(0);
    expect(paceAfter([2 * EVERY_MS, -EVERY_MS]).nearPerWhole).toBe(0);
  });

  test('however short the interval: half a minute late is not late', () => {
    const every = 10 * SECOND_MS;
    const late = { pace: { ...FIRST_PACE, late: 1 }, startedAt: 0 };
    expect(paceOf(late, every + 29 * SECOND_MS, every)).toMatchObject({ nearPerWhole: 0, late: 1 });
    expect(paceOf(late, every + 31 * SECOND_MS, every).nearPerWhole).toBeGreaterThan(0);
  });

  test('while anything is left open by the last one that did', () => {
    expect(isNearDue({ ...FIRST_PACE, nearPerWhole: 4, isPlain: false })).toBe(false);
    expect(isNearDue({ ...FIRST_PACE, nearPerWhole: 4, isPlain: true })).toBe(true);
    expect(isNearDue({ ...FIRST_PACE, nearPerWhole: 4, nearSince: 4, isPlain: true })).toBe(false);
  });
});

describe('cycles that come late more than once', () => {
  test('read all as many times less often', () => {
    expect(paceAfter([4 * EVERY_MS, 4 * EVERY_MS]).nearPerWhole).toBe(3);
    expect(paceAfter([2 * EVERY_MS, EVERY_MS, EVERY_MS, 2 * EVERY_MS]).nearPerWhole).toBe(1);
    expect(paceAfter([1.25 * EVERY_MS, 1.25 * EVERY_MS], { nearPerWhole: 3 }).nearPerWhole).toBe(4);
    expect(paceAfter([2 * EVERY_MS, 2 * EVERY_MS], { nearPerWhole: 3 }).nearPerWhole).toBe(5);
  });

  test('read all with one in thirteen at least', () => {
    const pace = fc.record({ nearPerWhole: fc.nat(12) });
    const late = fc.array(fc.integer({ min: 0, max: 1_000 * EVERY_MS }));
    fc.assert(fc.property(late, pace, (intervals, from) => paceAfter(intervals, from).nearPerWhole <= 12));
    expect(paceAfter([1_000 * EVERY_MS, 1_000 * EVERY_MS]).nearPerWhole).toBe(12);
  });

  test('read all more often by and by when they come in time, and neither when they are a little late', () => {
    const tight = { nearPerWhole: 2 };
    expect(paceAfter([EVERY_MS, EVERY_MS], tight).nearPerWhole).toBe(2);
    expect(paceAfter([EVERY_MS, EVERY_MS, EVERY_MS], tight).nearPerWhole).toBe(1);
    expect(paceAfter(Array(6).fill(EVERY_MS), tight).nearPerWhole).toBe(0);
    expect(paceAfter(Array(20).fill(EVERY_MS * 1.08), tight).nearPerWhole).toBe(2);
  });

  test('do not all read all together, though all tenants of a client come late together', () => {
    const begun = Array.from({ length: 1_000 }, (_, index) => 4 * EVERY_MS + index * 17);
    const left = begun.map((startedAt) => paceAfter([4 * EVERY_MS, startedAt]).nearSince);
    for (const nearSince of [0, 1, 2, 3, 4]) {
      expect(left.filter((one) => one === nearSince).length).toBeGreaterThan(100);
    }
  });
});
