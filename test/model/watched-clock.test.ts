import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/model/time.ts';
import { watchClock } from '../../src/model/watched-clock.ts';

const BEGAN_AT = Date.UTC(2026, 0, 1);

/** A machine whose wall clock can be set. */
function machine() {
  const real = { now: 0, offsetMs: BEGAN_AT };
  const wall = () => real.now + real.offsetMs;
  const watch = (startedAt = real.now) => {
    const { clock, elapsedBetween } = watchClock(wall, () => real.now - startedAt);
    return { clock, elapsedSince: (at: number) => elapsedBetween(at, clock()), elapsedBetween };
  };
  return { real, wall, watch };
}

describe('the time between two readings', () => {
  test('is what the wall clock says, while nobody sets it', () => {
    const { real, wall, watch } = machine();
    const before = wall() - HOUR_MS;
    const { clock, elapsedSince } = watch();
    const at = clock();
    real.now += MINUTE_MS;
    expect([elapsedSince(at), elapsedSince(before), clock()]).toEqual([MINUTE_MS, HOUR_MS + MINUTE_MS, wall()]);
  });

  test('is no longer where the wall clock jumps ahead in between, and goes on from there', () => {
    const { real, watch } = machine();
    const { clock, elapsedSince } = watch();
    const first = clock();
    real.offsetMs += HOUR_MS;
    real.now += 2 * SECOND_MS;
    expect(elapsedSince(first)).toBe(2 * SECOND_MS);
    const second = clock();
    real.now += MINUTE_MS;
    expect([elapsedSince(first), elapsedSince(second)]).toEqual([MINUTE_MS + 2 * SECOND_MS, MINUTE_MS]);
  });

  test('is no shorter where the wall clock is put back in between', () => {
    const { real, watch } = machine();
    const { clock, elapsedSince } = watch();
    const first = clock();
    real.offsetMs -= HOUR_MS;
    real.now += MINUTE_MS;
    expect(elapsedSince(first)).toBe(MINUTE_MS);
  });

  test('is as much longer as it began before the process, by the clock as it was then', () => {
    const { real, wall, watch } = machine();
    const before = wall() - MINUTE_MS;
    const { elapsedSince } = watch();
    real.offsetMs += HOUR_MS;
    real.now += SECOND_MS;
    expect(elapsedSince(before)).toBe(MINUTE_MS + SECOND_MS);
  });

  test('is none where a clock that ran ahead before said so', () => {
    const { real, wall, watch } = machine();
    const ahead = wall() + HOUR_MS;
    const { elapsedSince } = watch();
    real.now += MINUTE_MS;
    expect(elapsedSince(ahead)).toBe(MINUTE_MS - HOUR_MS);
  });

  test('ends where it ended, whatever the clock did afterwards', () => {
    const { real, watch } = machine();
    const { clock, elapsedBetween } = watch();
    const first = clock();
    real.offsetMs += HOUR_MS;
    real.now += MINUTE_MS;
    const second = clock();
    real.offsetMs -= HOUR_MS;
    real.now += MINUTE_MS;
    clock();
    expect(elapsedBetween(first, second)).toBe(MINUTE_MS);
  });

  test('is no longer for another process either, which took nothing down before the jump', () => {
    const { real, wall, watch } = machine();
    const { elapsedSince } = watch();
    real.now += HOUR_MS;
    const first = wall();
    real.now += SECOND_MS;
    real.offsetMs += HOUR_MS;
    expect(elapsedSince(first)).toBe(SECOND_MS);
  });

  test('is never more than what passed, but for less than a second, and never less than that for good, whatever is set', () => {
    const step = fc.record({
      passMs: fc.integer({ min: 0, max: 10 * MINUTE_MS }),
      jumpMs: fc.oneof(
        fc.constant(0),
        fc.integer({ min: -900, max: 900 }),
        fc.integer({ min: -HOUR_MS, max: HOUR_MS }),
      ),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.nat(29), (steps, noted) => {
        const { real, watch } = machine();
        const { clock, elapsedSince } = watch();
        let first: { at: number; realAt: number } | null = null;
        for (const [index, { passMs, jumpMs }] of steps.entries()) {
          if (index === noted) first = { at: clock(), realAt: real.now };
          real.now += passMs;
          real.offsetMs += jumpMs;
          clock();
        }
        if (first === null) return;
        expect(elapsedSince(first.at)).toBeLessThan(real.now - first.realAt + SECOND_MS);
        // Whatever happened, it is long ago some day.
        real.now += 100 * HOUR_MS;
        expect(elapsedSince(first.at)).toBeGreaterThan(60 * HOUR_MS);
      }),
    );
  });
});
