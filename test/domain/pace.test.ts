import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { isNext48hDue, paceOf } from '../../src/domain/pace.ts';
import { FIRST_PACE, type Pace } from '../../src/domain/runs.ts';

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

describe('every cycle fetches everything', () => {
  test('at first, and while cycles begin in time', () => {
    expect(isNext48hDue(paceOf(undefined, 0, EVERY_MS))).toBe(false);
    const inTime = fc.array(fc.integer({ min: 0, max: EVERY_MS * 1.1 }));
    fc.assert(fc.property(inTime, (intervals) => paceAfter(intervals).soonPerWhole === 0));
  });

  test('after one late cycle, for example after a suspended host, and when the clock is set back', () => {
    const stoodStill = [10 * EVERY_MS, EVERY_MS, EVERY_MS, EVERY_MS];
    expect(paceAfter([...stoodStill, ...stoodStill]).soonPerWhole).toBe(0);
    expect(paceAfter([2 * EVERY_MS, -EVERY_MS]).soonPerWhole).toBe(0);
  });

  test('with any interval: half a minute late is not late', () => {
    const every = 10 * SECOND_MS;
    const late = { pace: { ...FIRST_PACE, late: 1 }, startedAt: 0 };
    expect(paceOf(late, every + 29 * SECOND_MS, every)).toMatchObject({ soonPerWhole: 0, late: 1 });
    expect(paceOf(late, every + 31 * SECOND_MS, every).soonPerWhole).toBeGreaterThan(0);
  });

  test('while the last cycle that did so left a question open', () => {
    expect(isNext48hDue({ ...FIRST_PACE, soonPerWhole: 4, isPlain: false })).toBe(false);
    expect(isNext48hDue({ ...FIRST_PACE, soonPerWhole: 4, isPlain: true })).toBe(true);
    expect(isNext48hDue({ ...FIRST_PACE, soonPerWhole: 4, soonSince: 4, isPlain: true })).toBe(false);
  });
});

describe('cycles that come late more than once', () => {
  test('fetch everything less often, by the factor of their delay', () => {
    expect(paceAfter([4 * EVERY_MS, 4 * EVERY_MS]).soonPerWhole).toBe(3);
    expect(paceAfter([2 * EVERY_MS, EVERY_MS, EVERY_MS, 2 * EVERY_MS]).soonPerWhole).toBe(1);
    expect(paceAfter([1.25 * EVERY_MS, 1.25 * EVERY_MS], { soonPerWhole: 3 }).soonPerWhole).toBe(4);
    expect(paceAfter([2 * EVERY_MS, 2 * EVERY_MS], { soonPerWhole: 3 }).soonPerWhole).toBe(5);
  });

  test('fetch everything at least in one of thirteen cycles', () => {
    const pace = fc.record({ soonPerWhole: fc.nat(12) });
    const late = fc.array(fc.integer({ min: 0, max: 1_000 * EVERY_MS }));
    fc.assert(fc.property(late, pace, (intervals, from) => paceAfter(intervals, from).soonPerWhole <= 12));
    expect(paceAfter([1_000 * EVERY_MS, 1_000 * EVERY_MS]).soonPerWhole).toBe(12);
  });

  test('fetch everything more often step by step when they start in time, and keep the rate when they are a little late', () => {
    const tight = { soonPerWhole: 2 };
    expect(paceAfter([EVERY_MS, EVERY_MS], tight).soonPerWhole).toBe(2);
    expect(paceAfter([EVERY_MS, EVERY_MS, EVERY_MS], tight).soonPerWhole).toBe(1);
    expect(paceAfter(Array(6).fill(EVERY_MS), tight).soonPerWhole).toBe(0);
    expect(paceAfter(Array(20).fill(EVERY_MS * 1.08), tight).soonPerWhole).toBe(2);
  });

  test('do not all fetch everything at once, although all tenants of a client are late together', () => {
    const begun = Array.from({ length: 1_000 }, (_, index) => 4 * EVERY_MS + index * 17);
    const left = begun.map((startedAt) => paceAfter([4 * EVERY_MS, startedAt]).soonSince);
    for (const soonSince of [0, 1, 2, 3, 4]) {
      expect(left.filter((one) => one === soonSince).length).toBeGreaterThan(100);
    }
  });
});

/** Tenants of one client, whose requests leave one after the other; cycles wait for their turn in the order of coming. */
function sharingOneClient(tenants: number, requestEveryMs: number, costs: { whole: number; near: number }) {
  const all = Array.from({ length: tenants }, (_, index) => {
    const dueAt = Math.floor((index * EVERY_MS) / tenants);
    return { dueAt, before: undefined as Parameters<typeof paceOf>[0], soonAsOf: 0, wholeAsOf: 0 };
  });
  const ages = { near: [] as number[], whole: [] as number[] };
  const [settledAt, endsAt] = [8 * HOUR_MS, 16 * HOUR_MS];
  for (let now = 0, lookAt = settledAt; now < endsAt; ) {
    for (; lookAt <= now; lookAt += MINUTE_MS) {
      for (const { soonAsOf, wholeAsOf } of all) {
        ages.near.push(lookAt - soonAsOf);
        ages.whole.push(lookAt - wholeAsOf);
      }
    }
    const next = all.reduce((one, other) => (other.dueAt < one.dueAt ? other : one));
    const startedAt = Math.max(now, next.dueAt);
    const pace = paceOf(next.before, startedAt, EVERY_MS);
    const isNear = isNext48hDue(pace);
    now = startedAt + requestEveryMs * (isNear ? costs.near : costs.whole);
    next.soonAsOf = startedAt;
    if (!isNear) next.wholeAsOf = startedAt;
    next.before = { startedAt, pace: { ...pace, soonSince: isNear ? pace.soonSince + 1 : 0, isPlain: true } };
    // Moments that passed while it waited are not made up for.
    next.dueAt += EVERY_MS * Math.max(1, Math.floor((startedAt - next.dueAt) / EVERY_MS) + 1);
  }
  const p95 = (values: number[]) => values.sort((one, other) => one - other)[Math.floor(values.length * 0.95)] ?? 0;
  return { near: p95(ages.near), whole: p95(ages.whole) };
}

describe('tenants that share one client', () => {
  const COSTS = { whole: 16, near: 2 };
  const TENANTS = 100;
  /** Time to fetch all tenants in turn. */
  const roundMs = (requestEveryMs: number) => TENANTS * COSTS.whole * requestEveryMs;

  test('refresh the next two days in a quarter of the time of equal turns, and the rest in at most three times this time', () => {
    for (const requestEveryMs of [1_000, 1_500, 2_000]) {
      const { near, whole } = sharingOneClient(TENANTS, requestEveryMs, COSTS);
      expect(near).toBeLessThan(0.25 * roundMs(requestEveryMs));
      expect(whole).toBeLessThan(3 * roundMs(requestEveryMs));
    }
  });

  test('fetch everything in every cycle if the request budget is large enough', () => {
    const requestEveryMs = (0.9 * EVERY_MS) / (TENANTS * COSTS.whole);
    const { near, whole } = sharingOneClient(TENANTS, requestEveryMs, COSTS);
    expect(whole).toBe(near);
    expect(whole).toBeLessThan(1.1 * EVERY_MS);
  });
});
