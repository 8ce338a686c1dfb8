import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { HOUR_MS, type Instant, MINUTE_MS, toZonedIso } from '../../../src/core/model/time.ts';
import {
  dueAtOf,
  localDay,
  nominalDueAt,
  type QuietHours,
  quietSpanAt,
  type When,
} from '../../../src/features/reminders/due.ts';

const ROME = 'Europe/Rome';
const NIGHT: QuietHours = { fromMinute: 21 * 60, toMinute: 8 * 60 };
const at = (iso: string): Instant => Date.parse(iso);
const local = (instant: Instant, zone = ROME) => toZonedIso(zone, instant);
const dayBefore: When = { kind: 'before', days: 1, minutes: 0 };

describe('the time that a rule names', () => {
  test.each([
    ['a day before', dayBefore, '2026-06-16T09:30:00+02:00', '2026-06-15T09:30:00+02:00'],
    [
      'a day before, over the clocks going forward',
      dayBefore,
      '2026-03-29T09:30:00+02:00',
      '2026-03-28T09:30:00+01:00',
    ],
    ['a day before, over the clocks going back', dayBefore, '2026-10-25T09:30:00+01:00', '2026-10-24T09:30:00+02:00'],
    ['a day before, in the hour that is skipped', dayBefore, '2026-03-30T02:30:00+02:00', '2026-03-29T03:30:00+02:00'],
    [
      '24 hours before',
      { kind: 'before', days: 0, minutes: 1_440 },
      '2026-03-29T09:30:00+02:00',
      '2026-03-28T08:30:00+01:00',
    ],
    [
      'two hours before, over the gap',
      { kind: 'before', days: 0, minutes: 120 },
      '2026-03-29T04:00:00+02:00',
      '2026-03-29T01:00:00+01:00',
    ],
    [
      'the day before at 18:00',
      { kind: 'at', daysBefore: 1, minuteOfDay: 1_080 },
      '2026-03-29T00:10:00+01:00',
      '2026-03-28T18:00:00+01:00',
    ],
    [
      'the same day at 08:00',
      { kind: 'at', daysBefore: 0, minuteOfDay: 480 },
      '2026-10-25T17:00:00+01:00',
      '2026-10-25T08:00:00+01:00',
    ],
  ] satisfies [string, When, string, string][])('%s', (_, when, start, due) => {
    expect(local(nominalDueAt(when, at(start), ROME))).toBe(due);
  });
});

describe('quiet hours', () => {
  const due = (when: When, start: string, minimumLeadMs = HOUR_MS) => {
    const result = dueAtOf(when, at(start), { zone: ROME, quiet: NIGHT, minimumLeadMs });
    return 'dueAt' in result ? local(result.dueAt) : result.excluded;
  };
  const hours = (count: number): When => ({ kind: 'before', days: 0, minutes: count * 60 });

  test('put a reminder off to the morning', () => {
    expect(due(hours(12), '2026-06-16T17:00:00+02:00')).toBe('2026-06-16T08:00:00+02:00');
  });
  test('bring it forward to the evening when the morning is too near the appointment', () => {
    expect(due(hours(2), '2026-06-16T08:30:00+02:00')).toBe('2026-06-15T20:30:00+02:00');
  });
  test('bring it forward when the morning is exactly too near, not when it is exactly early enough', () => {
    expect(due(hours(3), '2026-06-16T08:59:00+02:00')).toBe('2026-06-15T20:30:00+02:00');
    expect(due(hours(3), '2026-06-16T09:00:00+02:00')).toBe('2026-06-16T08:00:00+02:00');
  });
  test('end at eight although the clocks changed in the night', () => {
    expect(due(hours(12), '2026-03-29T17:00:00+02:00')).toBe('2026-03-29T08:00:00+02:00');
    expect(due(hours(12), '2026-10-25T17:00:00+01:00')).toBe('2026-10-25T08:00:00+01:00');
  });
  test('belong to the evening from their first minute on', () => {
    expect(due({ kind: 'at', daysBefore: 1, minuteOfDay: 21 * 60 }, '2026-06-16T17:00:00+02:00')).toBe(
      '2026-06-16T08:00:00+02:00',
    );
    expect(due({ kind: 'at', daysBefore: 1, minuteOfDay: 21 * 60 - 1 }, '2026-06-16T17:00:00+02:00')).toBe(
      '2026-06-15T20:59:00+02:00',
    );
  });
  test('leave no time when the evening before is too near the appointment, and just enough when it is exactly early enough', () => {
    const late = { kind: 'at', daysBefore: 0, minuteOfDay: 22 * 60 } as const;
    expect(due(late, '2026-06-16T21:30:00+02:00')).toBe('2026-06-16T20:30:00+02:00');
    expect(due(late, '2026-06-16T21:29:00+02:00')).toBe('too-close');
  });
  test('leave no time when the day between two nights is shorter than half an hour', () => {
    const quiet = { fromMinute: 8 * 60 + 20, toMinute: 8 * 60 };
    const result = dueAtOf(hours(2), at('2026-06-16T08:30:00+02:00'), { zone: ROME, quiet, minimumLeadMs: HOUR_MS });
    expect(result).toEqual({ excluded: 'quiet-hours' });
  });
  test('that are empty delay nothing', () => {
    for (const minute of [0, 9 * 60]) {
      const quiet = { fromMinute: minute, toMinute: minute };
      expect(quietSpanAt(at('2026-06-16T09:00:00+02:00'), quiet, ROME)).toBeNull();
    }
  });
  test('a rule’s own time may be exactly the minimum lead before the start, and no later', () => {
    expect(due(hours(1), '2026-06-16T17:00:00+02:00')).toBe('2026-06-16T16:00:00+02:00');
    expect(due(hours(1), '2026-06-16T17:00:00+02:00', HOUR_MS + 1)).toBe('too-close');
  });
  test('a fixed time that comes after the appointment gives no reminder', () => {
    expect(due({ kind: 'at', daysBefore: 0, minuteOfDay: 9 * 60 }, '2026-06-16T09:30:00+02:00')).toBe('too-close');
  });
});

const zones = fc.constantFrom(
  'Europe/Rome',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Africa/Cairo',
  'Asia/Kathmandu',
  'Pacific/Apia',
  'UTC',
);
// Two years with the changes of clocks in them, to the minute.
const instants = fc
  .integer({ min: 0, max: 2 * 366 * 1_440 })
  .map((minute) => Date.UTC(2025, 11, 1) + minute * MINUTE_MS);
const minutes = fc.integer({ min: 0, max: 1_439 });
const nights = fc
  .record({ fromMinute: minutes, toMinute: minutes })
  .filter(({ fromMinute, toMinute }) => 1_440 - ((toMinute - fromMinute + 1_440) % 1_440) >= 240);
const whens: fc.Arbitrary<When> = fc.oneof(
  fc.record({
    kind: fc.constant('before' as const),
    days: fc.integer({ min: 0, max: 10 }),
    minutes: fc.integer({ min: 1, max: 3_000 }),
  }),
  fc.record({ kind: fc.constant('at' as const), daysBefore: fc.integer({ min: 0, max: 10 }), minuteOfDay: minutes }),
);

describe('whatever the zone, the night and the season', () => {
  test('a reminder is never due at night, and never less than the minimum lead before the start', () => {
    fc.assert(
      fc.property(
        whens,
        instants,
        zones,
        nights,
        fc.integer({ min: 0, max: 600 }),
        (when, startAt, zone, quiet, lead) => {
          const due = dueAtOf(when, startAt, { zone, quiet, minimumLeadMs: lead * MINUTE_MS });
          if ('excluded' in due) return;
          expect(quietSpanAt(due.dueAt, quiet, zone)).toBeNull();
          expect(due.dueAt).toBeLessThanOrEqual(startAt - lead * MINUTE_MS);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('a reminder outside the night is due at the time of its rule', () => {
    fc.assert(
      fc.property(whens, instants, zones, nights, (when, startAt, zone, quiet) => {
        const nominalAt = nominalDueAt(when, startAt, zone);
        if (quietSpanAt(nominalAt, quiet, zone) !== null) return;
        const due = dueAtOf(when, startAt, { zone, quiet, minimumLeadMs: 0 });
        expect(due).toEqual(nominalAt > startAt ? { excluded: 'too-close' } : { dueAt: nominalAt });
      }),
      { numRuns: 1_000 },
    );
  });

  test('the night holds exactly the local times between its ends', () => {
    fc.assert(
      // In a zone without clock changes the local time decides.
      fc.property(instants, nights, (instant, quiet) => {
        const minute = (instant / MINUTE_MS) % 1_440;
        const { fromMinute: from, toMinute: to } = quiet;
        const isQuiet = from <= to ? from <= minute && minute < to : minute >= from || minute < to;
        expect(quietSpanAt(instant, quiet, 'UTC') !== null).toBe(isQuiet);
      }),
      { numRuns: 1_000 },
    );
  });
});

test('a local day has the hours that its clocks give it', () => {
  const { day, fromAt, toAt } = localDay({ after: at('2026-03-28T12:00:00Z') }, ROME);
  expect([day, (toAt - fromAt) / HOUR_MS]).toEqual(['2026-03-29', 23]);
  expect(localDay('2026-10-25', ROME).toAt - localDay('2026-10-25', ROME).fromAt).toBe(25 * HOUR_MS);
});
