import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import { isZone, offsetMs, toZonedIso } from '../../src/model/zones.ts';

const ZONES = Intl.supportedValuesOf('timeZone');
/** ALL_ZONES=1 looks at every zone in every week; else at a sample that differs in the zones' share of the year. */
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

  test('shows the wall time that the IANA data tells, on both sides of every clock change', () => {
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

describe('an offset', () => {
  test('changes only on a quarter of an hour in UTC, so that one look-up serves the quarter', () => {
    for (const zone of ZONES) {
      for (const change of clockChanges(zone)) expect(change % (15 * MINUTE_MS), `${zone} at ${change}`).toBe(0);
    }
  });

  test('stays right when more instants were asked for than are remembered', () => {
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
