import fc from 'fast-check';
import ICAL from 'ical.js';
import { describe, expect, test } from 'vitest';
import { addTimes, calendarText, carriable, isModestCalendar, readTimes } from '../../src/connectors/icalendar.ts';
import type { FeedEntry } from '../../src/core/model/feeds.ts';
import type { ItemTime } from '../../src/core/model/items.ts';
import { toZonedIso } from '../../src/core/model/time.ts';

const HALF_HOUR_MS = 30 * 60_000;

function timedFrom(zone: string, startAt: number, lengthMs = HALF_HOUR_MS): ItemTime {
  return { kind: 'timed', start: toZonedIso(zone, startAt), end: toZonedIso(zone, startAt + lengthMs), zone };
}

/** A calendar with one event at this time, as text. */
function calendarAt(time: ItemTime): string {
  const event = new ICAL.Component('vevent');
  const definition = addTimes(event, time);
  return ['BEGIN:VCALENDAR', ...(definition === null ? [] : [definition]), event.toString(), 'END:VCALENDAR'].join(
    '\r\n',
  );
}

function linesAt(time: ItemTime): string[] {
  return calendarAt(time).split('\r\n');
}

function timeIn(text: string): ItemTime | null {
  const calendar = ICAL.Component.fromString(text);
  return readTimes(calendar, calendar.getFirstSubcomponent('vevent')!);
}

describe('the times of an event', () => {
  test('are read back as the same instant and zone, in any zone at any time', () => {
    const zones = ['Europe/Rome', 'Europe/Dublin', 'America/St_Johns', 'Australia/Lord_Howe', 'Africa/Casablanca'];
    const others = ['Asia/Kathmandu', 'Pacific/Apia', 'America/Sao_Paulo', 'UTC', 'Asia/Tokyo'];
    const quarter = fc.integer({ min: Date.UTC(2000, 0, 1) / 900_000, max: Date.UTC(2060, 0, 1) / 900_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones, ...others), quarter, fc.nat({ max: 400 }), (zone, start, quarters) => {
        const time = timedFrom(zone, start * 900_000, quarters * 900_000);
        expect(timeIn(calendarAt(time))).toEqual(time);
      }),
      { numRuns: 100 },
    );
  });

  test.each([
    ['leap day', { kind: 'all-day', startDate: '2028-02-29', endDate: '2028-03-01' }],
    ['several days', { kind: 'all-day', startDate: '2026-12-30', endDate: '2027-01-03' }],
    ['midnight crossing', timedFrom('Europe/Rome', Date.UTC(2026, 5, 1, 21, 30), 5 * HALF_HOUR_MS)],
    ['far future', timedFrom('Europe/Rome', Date.UTC(2199, 6, 1, 10))],
    ['no length', timedFrom('Europe/Rome', Date.UTC(2026, 6, 1, 10), 0)],
    ['first 02:30 of a night with two', timedFrom('Europe/Rome', Date.UTC(2026, 9, 25, 0, 30), HALF_HOUR_MS / 2)],
    ['second 02:30 of a night with two', timedFrom('Europe/Rome', Date.UTC(2026, 9, 25, 1, 30), HALF_HOUR_MS / 2)],
    ['from the first 02:30 to the second', timedFrom('Europe/Rome', Date.UTC(2026, 9, 25, 0, 30), 2 * HALF_HOUR_MS)],
    ['across the hour that is left out', timedFrom('Europe/Rome', Date.UTC(2026, 2, 29, 0, 45))],
  ] as [string, ItemTime][])('are read back as the same time: %s', (_name, time) => {
    expect(timeIn(calendarAt(time))).toEqual(time);
  });

  test('end a second after the start where the item has no length, or less than none', () => {
    for (const lengthMs of [0, -HALF_HOUR_MS]) {
      const lines = linesAt(timedFrom('Europe/Rome', Date.UTC(2026, 6, 1, 10), lengthMs));
      expect(lines).toContain('DTEND;TZID=Europe/Rome:20260701T120001');
    }
  });

  test('go out in UTC where the local time comes twice, since clients disagree on which one it means', () => {
    const linesFrom = (startAt: number) => linesAt(timedFrom('Europe/Rome', startAt));
    expect(linesFrom(Date.UTC(2026, 9, 25, 0, 30))).toContain('DTSTART:20261025T003000Z');
    expect(linesFrom(Date.UTC(2026, 9, 25, 1, 30))).toContain('DTSTART:20261025T013000Z');
    expect(linesFrom(Date.UTC(2026, 9, 25, 2, 0))).toContain('DTSTART;TZID=Europe/Rome:20261025T030000');
  });

  test('keep the instant of an offset that the zone does not have', () => {
    const time: ItemTime = {
      kind: 'timed',
      start: '2026-07-01T10:00:00+05:00',
      end: '2026-07-01T11:00:00+05:00',
      zone: 'Europe/Rome',
    };
    const expected = timedFrom('Europe/Rome', Date.parse(time.start), 2 * HALF_HOUR_MS);
    expect(timeIn(calendarAt(time))).toEqual(expected);
  });

  test('of an event without a length end where a client put the end', () => {
    const atOnce = calendarAt(timedFrom('Europe/Rome', Date.UTC(2026, 6, 1, 10), 0));
    const endingAt = (time: string) => timeIn(atOnce.replace(/DTEND.*/, `DTEND;TZID=Europe/Rome:20260701T${time}`));
    expect(endingAt('123000')).toEqual(timedFrom('Europe/Rome', Date.UTC(2026, 6, 1, 10)));
    // Clients may leave out the seconds.
    expect(endingAt('120000')).toEqual(timedFrom('Europe/Rome', Date.UTC(2026, 6, 1, 10), 0));
  });

  test('are no item where a duration of whole days is longer than ten years', () => {
    const lasting = (days: number) =>
      timeIn(
        `BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20260701\r\nDURATION:P${days}D\r\nEND:VEVENT\r\nEND:VCALENDAR`,
      );
    expect(lasting(3)).toEqual({ kind: 'all-day', startDate: '2026-07-01', endDate: '2026-07-04' });
    expect(lasting(3_660)).toMatchObject({ endDate: '2036-07-08' });
    // A day is the length of a date without a usable one.
    expect(lasting(3_661)).toEqual({ kind: 'all-day', startDate: '2026-07-01', endDate: '2026-07-02' });
  });
});

describe('the definition of a zone', () => {
  test('gives a client that knows no zone by name the offset that holds', () => {
    const zones = [
      'Europe/Rome',
      'Europe/Dublin',
      'America/New_York',
      'Australia/Lord_Howe',
      'Asia/Tokyo',
      'Africa/Cairo',
    ];
    const minute = fc.integer({ min: Date.UTC(2015, 0, 1) / 60_000, max: Date.UTC(2045, 0, 1) / 60_000 });
    fc.assert(
      fc.property(fc.constantFrom(...zones), minute, (zone, start) => {
        const startAt = start * 60_000;
        const calendar = ICAL.Component.fromString(calendarAt(timedFrom(zone, startAt)));
        const property = calendar.getFirstSubcomponent('vevent')!.getFirstProperty('dtstart')!;
        const time = property.getFirstValue() as ICAL.Time;
        const definition = calendar.getFirstSubcomponent('vtimezone');
        if (property.getFirstParameter('tzid') !== undefined) {
          // The new name forces the use of the definition for the offset.
          definition!.updatePropertyWithValue('tzid', 'Zone 1');
          time.zone = new ICAL.Timezone(definition!);
        }
        expect(time.toUnixTime() * 1_000).toBe(startAt);
      }),
      { numRuns: 100 },
    );
  });

  test.each(['Europe/Rome', 'America/New_York', 'Australia/Sydney'])('is the same in every event: %s', (zone) => {
    const definitionIn = (year: number) => {
      const calendar = ICAL.Component.fromString(calendarAt(timedFrom(zone, Date.UTC(year, 0, 15, 12))));
      return calendar.getFirstSubcomponent('vtimezone')!.toString();
    };
    const definitions = new Set([2020, 2026, 2027, 2035].map(definitionIn));
    expect(definitions.size).toBe(1);
    expect([...definitions][0]).toContain('RRULE:FREQ=YEARLY');
  });

  const time = timedFrom('Europe/Rome', Date.UTC(2026, 2, 29, 7));
  const renamed = calendarAt(time).replaceAll(/(TZID[:=])Europe\/Rome/g, '$1Rome Standard Time');

  test('explains a zone with a custom name', () => {
    expect(timeIn(renamed)).toEqual(time);
  });

  test.each([
    ['a rule that is not yearly', /RRULE:FREQ=YEARLY/, 'RRULE:FREQ=DAILY'],
    ['a day that never comes', /RRULE:.*/, 'RRULE:FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30'],
    ['a week of the year', /RRULE:.*/, 'RRULE:FREQ=YEARLY;BYWEEKNO=53'],
    ['a start in the year 1', /DTSTART:\d{8}/, 'DTSTART:00010101'],
    [
      'rules of more than 1,500 years together',
      /(BEGIN:DAYLIGHT[\s\S]*?DTSTART:)\d{4}([\s\S]*?END:DAYLIGHT)/,
      Array(3).fill('$11601$2').join('\r\n'),
    ],
    ['33 rules', /(BEGIN:DAYLIGHT[\s\S]*?END:DAYLIGHT)/, Array(33).fill('$1').join('\r\n')],
  ])('is not worked out with %s, so the event is no item', (_name, pattern, replacement) => {
    const changed = renamed.replace(pattern, replacement);
    expect(changed).not.toBe(renamed);
    expect(timeIn(changed)).toBeNull();
  });
});

describe('a calendar object that comes in', () => {
  const withLines = (count: number, line = 'X:1') => Array(count).fill(line).join('\r\n');

  test('is parsed up to 10,000 unfolded lines', () => {
    expect(isModestCalendar(withLines(10_000))).toBe(true);
    expect(isModestCalendar(withLines(10_001))).toBe(false);
    expect(isModestCalendar(withLines(20_000, ' folded'))).toBe(true);
  });

  test('is parsed up to 4,000,000 characters', () => {
    expect(isModestCalendar('x'.repeat(4_000_000))).toBe(true);
    expect(isModestCalendar('x'.repeat(4_000_001))).toBe(false);
  });

  test('is not parsed with a line of many parameters, folded or not, in the middle or at the end', () => {
    const line = `X${';A=1'.repeat(15_000)}:1`;
    expect(isModestCalendar(line)).toBe(false);
    expect(isModestCalendar(`${line}\r\nEND`)).toBe(false);
    expect(isModestCalendar(line.replaceAll(';', '\r\n ;'))).toBe(false);
    expect(isModestCalendar(`X${';A=1'.repeat(1_000)}:1`)).toBe(true);
  });

  test('is parsed with the values of a thousand guests, and not with fifty thousand values', () => {
    const values = (lines: number) => withLines(lines, `CATEGORIES:${'a,'.repeat(99)}a`);
    expect(isModestCalendar(values(100))).toBe(true);
    expect(isModestCalendar(values(506))).toBe(false);
  });
});

test('a text is carried with line feeds only, without other control characters and half surrogates', () => {
  expect(carriable('a\r\nb\rc\u2028d\te\u0000\u001b\ufefff\ud800')).toBe('a\nb\nc\nd\tef\ufffd');
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(carriable(carriable(text))).toBe(carriable(text));
    }),
  );
});

describe('a feed as text', () => {
  const entry = (uid: string, zone: FeedEntry['zone']): FeedEntry => ({
    revision: 1,
    ownerTag: 'tag',
    sealedRecordId: 'sealed',
    item: { title: uid, description: null, location: null, busy: true, time: timedFrom('UTC', 0) },
    event: `BEGIN:VEVENT\r\nUID:${uid}\r\nEND:VEVENT`,
    zone,
  });
  const [a, b] = [
    entry('a', { name: 'Europe/Rome', fromYear: 2026, toYear: 2026 }),
    entry('b', { name: 'Europe/Rome', fromYear: 2028, toYear: 2028 }),
  ];

  test('is the same whatever the order of its entries, with each zone once', () => {
    const text = calendarText(
      'Room',
      new Map([
        ['b', b],
        ['a', a],
        ['c', entry('c', null)],
      ]),
    );
    // METHOD would require an organizer for each event (RFC 5546 section 3.2.1).
    expect(text).not.toContain('METHOD');
    expect(text).toBe(
      calendarText(
        'Room',
        new Map([
          ['c', entry('c', null)],
          ['a', a],
          ['b', b],
        ]),
      ),
    );
    expect(text.match(/BEGIN:VTIMEZONE/g)).toHaveLength(1);
    expect([...text.matchAll(/UID:(\w)/g)].map(([, uid]) => uid)).toEqual(['a', 'b', 'c']);
    expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true);
  });

  test('carries a name of several lines and with signs of the format as one value', () => {
    const text = calendarText('Room; 1, left\\right\r\nEND:VCALENDAR', new Map());
    expect(text).toContain('\r\nNAME:Room\\; 1\\, left\\\\right\\nEND:VCALENDAR\r\n');
    expect(ICAL.Component.fromString(text).getFirstPropertyValue('name')).toBeTruthy();
  });
});
