import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { MirrorError, type MirrorErrorOptions } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { nextTry, nextTryInTarget, targetBackoffMs } from '../../src/engine/retry.ts';

function failure(options: Partial<MirrorErrorOptions> = {}): MirrorError {
  return new MirrorError('x', { actor: 'remote', code: 'x', retry: 'later', ...options });
}

const fractions = fc.double({ min: 0, max: 0.999_999, noNaN: true });

describe('the next try of a failed operation', () => {
  test('comes after at most twice the previous delay, and after at most a quarter of an hour', () => {
    fc.assert(
      fc.property(fc.nat(11), fractions, (attempts, fraction) => {
        const { delayMs, parked } = nextTry(failure(), attempts, () => fraction);
        expect(parked).toBe(false);
        expect(delayMs).toBeGreaterThan(0);
        expect(delayMs).toBeLessThanOrEqual(Math.min(SECOND_MS * 2 ** attempts, 15 * MINUTE_MS) + 100);
      }),
    );
  });

  test('comes as late as its share of that time, and a tenth of a second more', () => {
    const nearlyOne = () => 0.999_999;
    expect(nextTry(failure(), 0, () => 0).delayMs).toBe(100);
    expect(nextTry(failure(), 3, () => 0.5).delayMs).toBe(4 * SECOND_MS + 100);
    expect(nextTry(failure(), 20, nearlyOne).delayMs).toBeCloseTo(15 * MINUTE_MS + 100, -1);
  });

  test('is spread, so that those that failed together do not come back together', () => {
    const delays = [0.1, 0.5, 0.9].map((fraction) => nextTry(failure(), 6, () => fraction).delayMs);
    expect(Math.max(...delays) - Math.min(...delays)).toBeGreaterThan(45 * SECOND_MS);
  });

  test('never comes sooner than the vendor asked, and never later than a day', () => {
    fc.assert(
      fc.property(fc.nat(11), fc.nat(3 * DAY_MS), fractions, (attempts, retryAfterMs, fraction) => {
        const { delayMs, parked } = nextTry(failure({ retryAfterMs }), attempts, () => fraction);
        expect(parked).toBe(false);
        expect(delayMs).toBeGreaterThanOrEqual(Math.min(retryAfterMs, DAY_MS));
        expect(delayMs).toBeLessThanOrEqual(DAY_MS + SECOND_MS);
      }),
    );
  });

  test('comes at once when the error allows it, and only the first time', () => {
    const conflict = failure({ actor: 'conflict', retry: 'now' });
    expect(nextTry(conflict, 0, () => 0.5)).toEqual({ delayMs: 0, parked: false });
    expect(nextTry(conflict, 1, () => 0.5).delayMs).toBeGreaterThan(0);
  });

  test.each([
    ['an error that a repetition does not help', failure({ retry: 'never' }), 0],
    ['an answer not understood that came twelve times', failure({ actor: 'contract' }), 12],
  ])('of %s is a day away, parked', (_, error, attempts) => {
    const { delayMs, parked } = nextTry(error, attempts, () => 0.5);
    expect(parked).toBe(true);
    expect(delayMs).toBeGreaterThanOrEqual(DAY_MS);
    expect(delayMs).toBeLessThanOrEqual(DAY_MS + HOUR_MS);
  });
});

describe('the next try of an operation whose error may concern the whole target', () => {
  const soon = { delayMs: 2 * SECOND_MS + 100, parked: false };
  const inADay = { delayMs: DAY_MS + HOUR_MS / 2, parked: true };
  const never = { actor: 'settings', retry: 'never' } as const;

  test.each([
    ['of the target, the first time: comes soon', { ...never, concerns: 'target' as const }, false, soon],
    [
      'of the target, again while others succeeded: is a day away',
      { ...never, concerns: 'target' as const },
      true,
      inADay,
    ],
    ['of the authorization: comes soon', { ...never, actor: 'authorization' as const }, false, soon],
    ['of the authorization, again: is a day away', { ...never, actor: 'authorization' as const }, true, inADay],
    ['of one item: is a day away', { ...never, concerns: 'item' as const }, false, inADay],
    ['of unknown scope: is a day away', never, false, inADay],
  ])('%s', (_, options, isSecond, expected) => {
    expect(nextTryInTarget(failure(options), { attempts: 2, isSecond }, () => 0.5)).toEqual(expected);
  });

  test('comes when the vendor asked, and says so', () => {
    const error = failure({ concerns: 'target', retryAfterMs: 90 * SECOND_MS });
    const expected = { delayMs: 90.5 * SECOND_MS, parked: false, isAsked: true };
    expect(nextTryInTarget(error, { attempts: 2, isSecond: false }, () => 0.5)).toEqual(expected);
  });
});

test('an unreachable target is retried within half an hour, however long the outage was', () => {
  const { delayMs, parked } = nextTry(failure(), 500, () => 0.999);
  expect(parked).toBe(false);
  expect(delayMs).toBeLessThan(HOUR_MS / 2);
});

describe('the pause of a whole target', () => {
  test('is short after a passing error', () => {
    expect(targetBackoffMs(failure(), () => 0)).toBe(SECOND_MS);
    expect(targetBackoffMs(failure(), () => 0.5)).toBe(1.5 * SECOND_MS);
    expect(targetBackoffMs(failure(), () => 0.999_999)).toBeLessThan(2 * SECOND_MS);
  });

  test('grows as long as the failure lasts, to five minutes and as much again by chance', () => {
    expect(targetBackoffMs(failure(), () => 0, 30 * SECOND_MS)).toBe(30 * SECOND_MS);
    expect(targetBackoffMs(failure(), () => 0, 2 * HOUR_MS)).toBe(5 * MINUTE_MS);
    expect(targetBackoffMs(failure(), () => 0.5, 2 * HOUR_MS)).toBe(7.5 * MINUTE_MS);
    expect(targetBackoffMs(failure(), () => 0.999_999, 2 * HOUR_MS)).toBeLessThan(10 * MINUTE_MS);
  });

  test('grows to an hour when action is required, since the operator may have just acted', () => {
    const refused = failure({ actor: 'authorization', retry: 'never' });
    expect(targetBackoffMs(refused, () => 0)).toBe(SECOND_MS);
    expect(targetBackoffMs(refused, () => 0, DAY_MS)).toBe(HOUR_MS / 2);
    expect(targetBackoffMs(refused, () => 0.999_999, DAY_MS)).toBeLessThanOrEqual(HOUR_MS);
  });

  test('is as long as the vendor asked, up to a day', () => {
    expect(targetBackoffMs(failure({ retryAfterMs: 90 * SECOND_MS }), () => 0)).toBe(90 * SECOND_MS);
    expect(targetBackoffMs(failure({ retryAfterMs: 30 * DAY_MS }), () => 0)).toBe(DAY_MS);
    expect(targetBackoffMs(failure({ retryAfterMs: 90 * SECOND_MS }), () => 0.5)).toBe(90.5 * SECOND_MS);
  });

  test('grows while a limit without a named wait lasts, up to its longest wait', () => {
    const limited = failure({ retryAfterMs: 10 * SECOND_MS, growsToMs: MINUTE_MS });
    const pauses = [0, 30 * SECOND_MS, HOUR_MS].map((failingForMs) => targetBackoffMs(limited, () => 0, failingForMs));
    expect(pauses).toEqual([10 * SECOND_MS, 36 * SECOND_MS, MINUTE_MS]);
  });
});
