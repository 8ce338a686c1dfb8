import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { spanOf } from '../../src/connectors/icalendar-zones.ts';
import { HOUR_MS, MINUTE_MS, meansOnly } from '../../src/core/model/time.ts';

/** Clocks that change by an hour, half an hour and two hours, by a rule and without one, and one that skipped a day. */
const ZONES = [
  'Europe/Rome',
  'America/New_York',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'Africa/Casablanca',
  'Pacific/Apia',
  'Asia/Kolkata',
];
const [FIRST_AT, LAST_AT] = [Date.UTC(2011, 0, 1), Date.UTC(2030, 0, 1)];

/** Decides with Temporal: a local time is clear if its earlier and its later meaning are equal. */
function isClear(local: string, zone: string, at: number): boolean {
  const time = Temporal.PlainDateTime.from(local);
  const meanings = (['earlier', 'later'] as const).map(
    (disambiguation) => time.toZonedDateTime(zone, { disambiguation }).epochMilliseconds,
  );
  return meanings.every((meaning) => meaning === at);
}

function localAt(zone: string, at: number): string {
  return Temporal.Instant.fromEpochMilliseconds(at)
    .toZonedDateTimeISO(zone)
    .toPlainDateTime()
    .toString({ smallestUnit: 'second' });
}

describe('a local time that clients agree on', () => {
  test('is the same as Temporal finds, at any time and near changes of the clock', () => {
    const changes = ZONES.flatMap((zone) => changesOf(zone).map((change) => ({ zone, change })));
    expect(changes.length).toBeGreaterThan(100);
    fc.assert(
      fc.property(
        fc.constantFrom(...changes),
        fc.integer({ min: -26 * 60, max: 26 * 60 }),
        ({ zone, change }, minutes) => {
          const at = change + minutes * MINUTE_MS;
          expect(meansOnly(localAt(zone, at), zone, at)).toBe(isClear(localAt(zone, at), zone, at));
        },
      ),
      { numRuns: 2_000 },
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...ZONES),
        fc.integer({ min: FIRST_AT / MINUTE_MS, max: LAST_AT / MINUTE_MS }),
        (zone, minute) => {
          const at = minute * MINUTE_MS;
          expect(meansOnly(localAt(zone, at), zone, at)).toBe(isClear(localAt(zone, at), zone, at));
        },
      ),
    );
  });

  test.each([
    ['2026-10-25T02:30:00', '2026-10-25T02:30:00+02:00', 'the first of an hour that comes twice'],
    ['2026-10-25T02:30:00', '2026-10-25T02:30:00+01:00', 'the second of it'],
    ['2026-03-29T02:30:00', '2026-03-29T02:30:00+01:00', 'an hour that is left out'],
    ['2026-07-01T09:00:00', '2026-07-01T09:00:00+01:00', 'a time with the offset of winter'],
  ])('is not %s as %s: %s', (local, written) => {
    expect(meansOnly(local, 'Europe/Rome', Date.parse(written))).toBe(false);
  });
});

function changesOf(zone: string): number[] {
  const found: number[] = [];
  let at = Temporal.Instant.fromEpochMilliseconds(FIRST_AT).toZonedDateTimeISO(zone).getTimeZoneTransition('next');
  while (at !== null && at.epochMilliseconds < LAST_AT + HOUR_MS) {
    found.push(at.epochMilliseconds);
    at = at.getTimeZoneTransition('next');
  }
  return found;
}

describe('the span of an event', () => {
  test('of whole days begins and ends at midnight of the zone, also when the offset changes', () => {
    const days = { kind: 'all-day', startDate: '2027-10-31', endDate: '2027-11-01' } as const;
    const span = (startAt: string, endAt: string) => ({ startAt: Date.parse(startAt), endAt: Date.parse(endAt) });
    expect(spanOf(days, 'Europe/Rome')).toEqual(span('2027-10-30T22:00:00Z', '2027-10-31T23:00:00Z'));
    expect(spanOf(days, 'UTC')).toEqual(span('2027-10-31T00:00:00Z', '2027-11-01T00:00:00Z'));
  });

  test('with times follows from its offsets alone', () => {
    const [start, end] = ['2027-10-31T02:30:00+02:00', '2027-10-31T02:30:00+01:00'];
    const { startAt, endAt } = spanOf({ kind: 'timed', start, end, zone: 'Europe/Rome' }, 'UTC');
    expect([startAt, endAt - startAt]).toEqual([Date.parse('2027-10-31T00:30:00Z'), 3_600_000]);
  });
});
