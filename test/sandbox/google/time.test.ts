import fc from 'fast-check';
import { Temporal } from 'temporal-polyfill';
import { describe, expect, it } from 'vitest';
import { formatInZone, isZone, parseDate, parseDateTime } from '../../../sandbox/google/time.ts';

const ZONES = ['UTC', 'Europe/Zurich', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia'];
const wallTimes = fc
  .date({ min: new Date('2000-01-01'), max: new Date('2060-01-01'), noInvalidDate: true })
  .map((date) => date.toISOString().slice(0, 19));
const zones = fc.constantFrom(...ZONES);

describe('times', () => {
  it('are the instants that Temporal gives for wall times', () => {
    fc.assert(
      fc.property(wallTimes, zones, (wall, zone) => {
        const expected = Temporal.PlainDateTime.from(wall).toZonedDateTime(zone).epochMilliseconds;
        expect(parseDateTime(wall, zone)).toBe(expected);
      }),
      { numRuns: 500 },
    );
  });

  it('are written so that they read back as the same instant', () => {
    fc.assert(
      fc.property(wallTimes, zones, (wall, zone) => {
        const instant = Date.parse(`${wall}Z`);
        const written = formatInZone(instant, zone);
        expect(parseDateTime(written, 'UTC')).toBe(instant);
        const offset = Temporal.Instant.fromEpochMilliseconds(instant).toZonedDateTimeISO(zone).offset;
        expect(written.replace('Z', '+00:00').slice(19)).toBe(offset);
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['2027-03-28T02:30:00', '2027-03-28T03:30:00+02:00', 'in the gap of spring'],
    ['2027-10-31T02:30:00', '2027-10-31T02:30:00+02:00', 'in the overlap of autumn, the first'],
    ['2027-10-31T03:00:00', '2027-10-31T03:00:00+01:00', 'after the overlap'],
    ['2027-03-28T01:59:59', '2027-03-28T01:59:59+01:00', 'before the gap'],
  ])('%s in Zurich is %s: %s', (wall, expected) => {
    expect(formatInZone(parseDateTime(wall, 'Europe/Zurich')!, 'Europe/Zurich')).toBe(expected);
  });

  it.each([
    '2027-02-30T09:00:00Z',
    '2027-13-01T09:00:00Z',
    '2027-01-01T24:30:00Z',
    '2027-01-01',
    '2027-01-01T09:00Z',
    'x',
  ])('refuse %s', (text) => {
    expect(parseDateTime(text, 'UTC')).toBeUndefined();
  });

  it('know days, which begin in their zone', () => {
    expect(parseDate('2027-03-01', 'Europe/Zurich')).toBe(Date.parse('2027-02-28T23:00:00Z'));
    expect(parseDate('2027-02-29', 'UTC')).toBeUndefined();
    expect(parseDate('2028-02-29', 'UTC')).toBe(Date.parse('2028-02-29T00:00:00Z'));
  });

  it('know zones by name only', () => {
    expect(['Europe/Zurich', 'UTC', 'Mars/Olympus', '+02:00', ''].map(isZone)).toEqual([
      true,
      true,
      false,
      false,
      false,
    ]);
  });
});
