import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import {
  DAY_MS,
  HOUR_MS,
  hasPassed,
  isZone,
  localDate,
  MINUTE_MS,
  offsetMs,
  overlaps,
  SECOND_MS,
  sameOverlaps,
  toZonedIso,
  watchClock,
} from '../../../src/core/model/time.ts';

const WINDOW = { fromAt: 100, toAt: 200 };

test.each([
  ['ends as the window begins', 50, 100, false, true],
  ['ends one millisecond later', 50, 101, true, false],
  ['is around the window', 50, 250, true, false],
  ['begins one millisecond before the end', 199, 250, true, false],
  ['begins at the end', 200, 250, false, false],
  ['is a moment at the beginning', 100, 100, true, false],
  ['is a moment just before the beginning', 99, 99, false, true],
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

const BEGAN_AT = Date.UTC(2026, 0, 1);

/** A host whose wall clock can be set. */
function machine() {
  const real = { now: 0, offsetMs: BEGAN_AT };
  const wall = () => real.now + real.offsetMs;
  const watch = (startedAt = real.now) => {
    const { clock, elapsedBetween } = watchClock(wall, () => real.now - startedAt);
    return { clock, elapsedSince: (at: number) => elapsedBetween(at, clock()), elapsedBetween };
  };
  return { real, wall, watch };
}

test('two windows overlap the same spans exactly if the test says so', () => {
  const at = fc.integer({ min: 0, max: 12 });
  const span = fc.record({ startAt: at, endAt: at });
  const window = fc.record({ fromAt: at, toAt: at });
  fc.assert(
    fc.property(fc.array(span, { maxLength: 4 }), window, window, (spans, one, other) => {
      const passed = ({ fromAt }: typeof one) => spans.map((each) => hasPassed(each, { fromAt, toAt: 0 }));
      const begun = ({ toAt }: typeof one) => spans.map(({ startAt }) => startAt < toAt);
      const isSame = JSON.stringify([passed(one), begun(one)]) === JSON.stringify([passed(other), begun(other)]);
      const { look, holdsIn } = sameOverlaps(one);
      expect(spans.map(look)).toEqual(spans.map((each) => overlaps(each, one)));
      expect(holdsIn(other)).toBe(isSame);
      if (isSame) expect(spans.map((each) => overlaps(each, one))).toEqual(spans.map((each) => overlaps(each, other)));
    }),
  );
});

describe('the time between two reads of the clock', () => {
  test('is that of the wall clock, while the clock is not set', () => {
    const { real, wall, watch } = machine();
    const before = wall() - HOUR_MS;
    const { clock, elapsedSince } = watch();
    const at = clock();
    real.now += MINUTE_MS;
    expect([elapsedSince(at), elapsedSince(before), clock()]).toEqual([MINUTE_MS, HOUR_MS + MINUTE_MS, wall()]);
  });

  test('is no longer if the wall clock jumps ahead in between, and continues from there', () => {
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

  test('is no shorter if the wall clock is set back in between', () => {
    const { real, watch } = machine();
    const { clock, elapsedSince } = watch();
    const first = clock();
    real.offsetMs -= HOUR_MS;
    real.now += MINUTE_MS;
    expect(elapsedSince(first)).toBe(MINUTE_MS);
  });

  test('includes the time before the process, by the clock of that time', () => {
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

  test('is never more than the real time except for less than a second, and never permanently less, after any changes of the clock', () => {
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
        // Despite any changes of the clock, much time has passed in the end.
        real.now += 100 * HOUR_MS;
        expect(elapsedSince(first.at)).toBeGreaterThan(60 * HOUR_MS);
      }),
    );
  });
});

const ZONES = Intl.supportedValuesOf('timeZone');
/** ALL_ZONES=1 checks every zone in every week; the default is a sample that shifts from zone to zone. */
const STRIDE = process.env.ALL_ZONES === '1' ? 1 : 17;
const FROM = Date.UTC(2024, 0, 1);
const TO = Date.UTC(2032, 0, 1);

describe('a zoned time', () => {
  test('parses back to the instant that it was made from, in every zone of the IANA data', () => {
    for (const [index, zone] of ZONES.entries()) {
      for (let at = FROM + index * DAY_MS; at < TO; at += STRIDE * 7 * DAY_MS + 11 * HOUR_MS) {
        expect(Date.parse(toZonedIso(zone, at)), `${zone} at ${at}`).toBe(at);
      }
    }
  });

  test('shows the wall time of the IANA data, on both sides of every clock change', () => {
    for (const zone of ZONES.filter((_, index) => index % (STRIDE === 1 ? 1 : 5) === 0)) {
      for (const change of clockChanges(zone)) {
        for (const at of [change - HOUR_MS, change - 1_000, change, change + 1_000, change + HOUR_MS]) {
          const expected = Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
          expect(toZonedIso(zone, at), `${zone} at ${at}`).toBe(
            expected.toString({ timeZoneName: 'never', smallestUnit: 'second' }),
          );
        }
      }
    }
  });

  test('drops parts of a second and keeps the second', () => {
    fc.assert(
      fc.property(fc.constantFrom(...ZONES), fc.integer({ min: FROM, max: TO }), (zone, at) => {
        expect(Date.parse(toZonedIso(zone, at))).toBe(Math.floor(at / 1_000) * 1_000);
      }),
      { numRuns: 200 },
    );
  });

  test.each([
    ['Europe/Rome', '2026-03-29T00:59:59Z', '2026-03-29T01:59:59+01:00'],
    ['Europe/Rome', '2026-03-29T01:00:00Z', '2026-03-29T03:00:00+02:00'],
    ['Europe/Rome', '2026-10-25T00:30:00Z', '2026-10-25T02:30:00+02:00'],
    ['Europe/Rome', '2026-10-25T01:30:00Z', '2026-10-25T02:30:00+01:00'],
    ['Asia/Kathmandu', '2026-01-01T00:00:00Z', '2026-01-01T05:45:00+05:45'],
    ['America/St_Johns', '2026-01-01T00:00:00Z', '2025-12-31T20:30:00-03:30'],
    ['Pacific/Kiritimati', '2026-01-01T11:00:00Z', '2026-01-02T01:00:00+14:00'],
    ['UTC', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00+00:00'],
  ])('in %s at %s reads %s', (zone, instant, expected) => {
    expect(toZonedIso(zone, Date.parse(instant))).toBe(expected);
  });
});

test.each([
  ['Europe/Rome', '2026-03-28T22:59:59Z', '2026-03-28'],
  ['Europe/Rome', '2026-03-28T23:00:00Z', '2026-03-29'],
  ['Europe/Rome', '2026-10-24T22:00:00Z', '2026-10-25'],
  ['America/St_Johns', '2026-01-01T03:29:59Z', '2025-12-31'],
])('the local date in %s at %s is %s', (zone, instant, expected) => {
  expect(localDate(zone, Date.parse(instant))).toBe(expected);
});

describe('an offset', () => {
  test('changes only on a quarter of an hour in UTC, so that one lookup serves the quarter', () => {
    for (const zone of ZONES) {
      for (const change of clockChanges(zone)) expect(change % (15 * MINUTE_MS), `${zone} at ${change}`).toBe(0);
    }
  });

  test('stays correct after more lookups than the cache holds', () => {
    const before = offsetMs('Europe/Rome', FROM);
    for (let index = 0; index < 21_000; index += 1) offsetMs('Europe/Rome', FROM + index * 15 * MINUTE_MS);
    expect(offsetMs('Europe/Rome', FROM)).toBe(before);
  });

  test('of an unknown zone is an error', () => {
    expect(() => offsetMs('Europe/Atlantis', FROM)).toThrow(RangeError);
    expect(isZone('Europe/Atlantis')).toBe(false);
    expect(isZone('')).toBe(false);
    expect(isZone('Europe/Rome')).toBe(true);
  });
});

function clockChanges(zone: string): number[] {
  const changes: number[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(FROM).toZonedDateTimeISO(zone);
  for (;;) {
    const next = at.getTimeZoneTransition('next');
    if (next === null || next.epochMilliseconds >= TO) return changes;
    changes.push(next.epochMilliseconds);
    at = next;
  }
}
