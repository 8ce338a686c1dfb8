import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { versionTagOf } from '../../../src/connectors/caldav/collection.ts';
import {
  fromCalendarObject,
  isSameItem,
  type ObjectToWrite,
  toCalendarObject,
} from '../../../src/connectors/caldav/from-model.ts';
import { NO_DESCRIPTION, NO_PRESETS } from '../../../src/connectors/event-content.ts';
import { carriable } from '../../../src/connectors/icalendar.ts';
import type { CalendarItem } from '../../../src/core/model/items.ts';
import { toZonedIso } from '../../../src/core/model/time.ts';

const KEY = '0123456789abcdefghijklmnopqrstuv';
const HALF_HOUR_MS = 30 * 60_000;

function objectWith(item: Partial<CalendarItem>, changes: Partial<ObjectToWrite> = {}): ObjectToWrite {
  const time = {
    kind: 'timed',
    start: '2026-03-29T09:00:00+02:00',
    end: '2026-03-29T09:30:00+02:00',
    zone: 'Europe/Rome',
  } as const;
  return {
    key: KEY,
    ownerTag: 'mark0mark0mark0m',
    sealedRecordId: 'v1.AbC-_9',
    revision: 7,
    item: { title: 'Appointment', description: null, location: null, busy: true, time, ...item },
    writtenAt: Date.UTC(2026, 0, 2, 3, 4, 5),
    stored: null,
    ...changes,
  };
}

function roundTrip(item: Partial<CalendarItem>): CalendarItem | null | undefined {
  return fromCalendarObject(toCalendarObject(objectWith(item)))?.item;
}

function timedFrom(zone: string, startAt: number, lengthMs = HALF_HOUR_MS): CalendarItem['time'] {
  return { kind: 'timed', start: toZonedIso(zone, startAt), end: toZonedIso(zone, startAt + lengthMs), zone };
}

/** Returns the unfolded lines. */
function linesOf(text: string): string[] {
  return text.replaceAll('\r\n ', '').split('\r\n');
}

/** Returns the text with one line replaced or removed. */
function withLine(text: string, line: RegExp, replacement: string): string {
  const changed = linesOf(text).map((one) => (line.test(one) ? replacement : one));
  expect(changed).toContain(replacement);
  return changed.filter((one) => one !== '').join('\r\n');
}

describe('what is written', () => {
  test('is private, has no guests or alarms, and carries the owner tag, the encrypted record id and the key', () => {
    const lines = linesOf(toCalendarObject(objectWith({ busy: false })));
    expect(lines).toEqual(
      expect.arrayContaining([`UID:${KEY}`, 'CLASS:PRIVATE', 'TRANSP:TRANSPARENT', 'DTSTAMP:20260102T030405Z']),
    );
    expect(fromCalendarObject(lines.join('\r\n'))).toMatchObject({
      ownerTag: 'mark0mark0mark0m',
      sealedRecordId: 'v1.AbC-_9',
    });
    expect(lines.filter((line) => /^(ATTENDEE|ORGANIZER|METHOD|BEGIN:VALARM)/.test(line))).toEqual([]);
  });

  test('has lines of at most 75 octets that end in CRLF and never cut a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 400, size: 'max' }), (title) => {
        const text = toCalendarObject(objectWith({ title }));
        expect(text.endsWith('END:VCALENDAR\r\n')).toBe(true);
        expect(text.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/);
        for (const line of text.split('\r\n')) {
          expect(Buffer.byteLength(line)).toBeLessThanOrEqual(75);
          expect(line.isWellFormed()).toBe(true);
        }
      }),
    );
  });

  test('is folded at 75 octets, the space that begins a further line among them', () => {
    const lengths = (title: string) =>
      toCalendarObject(objectWith({ title }))
        .split('\r\n')
        .map((line) => Buffer.byteLength(line));
    expect(Math.max(...lengths('a'.repeat(300)))).toBe(75);
    expect(Math.max(...lengths('é'.repeat(150)))).toBe(75);
  });

  test('counts SEQUENCE up with time, and above what is stored', () => {
    const sequenceOf = (changes: Partial<ObjectToWrite>) =>
      fromCalendarObject(toCalendarObject(objectWith({}, changes)))?.sequence ?? Number.NaN;
    const first = sequenceOf({ writtenAt: Date.UTC(2026, 0, 1) });
    expect(sequenceOf({ writtenAt: Date.UTC(2026, 0, 1, 0, 0, 1) })).toBe(first + 1);
    expect(
      sequenceOf({
        stored: {
          sequence: first + 1_000_000_000,
          userText: '',
          descriptionParts: NO_DESCRIPTION,
          presets: NO_PRESETS,
        },
      }),
    ).toBe(first + 1_000_000_001);
    expect(sequenceOf({ writtenAt: Date.UTC(2087, 0, 1) })).toBeLessThan(2 ** 31);
  });
});

describe('what is read back', () => {
  test('equals the written string, except for control characters', () => {
    const text = fc.string({ unit: fc.oneof(fc.constantFrom(...';,\\:"\n\t<>&😀éש'), fc.string({ unit: 'binary' })) });
    fc.assert(
      fc.property(text, text, (title, description) => {
        const item = roundTrip({ title, description, location: `${title};${description}` });
        expect(item?.title).toBe(carriable(title));
        expect(item?.description).toBe(carriable(description) || null);
        expect(
          isSameItem(item ?? null, objectWith({ title, description, location: `${title};${description}` }).item),
        ).toBe(true);
      }),
    );
  });
});

describe("other programs' objects", () => {
  const written = toCalendarObject(objectWith({}));
  const itemOf = (text: string) => fromCalendarObject(text)?.item;

  test.each([
    ['floating time', /^DTSTART/, 'DTSTART:20260329T090000'],
    ['unknown zone without a definition', /^DTSTART/, 'DTSTART;TZID=Nowhere:20260329T090000'],
    ['dates mixed with times', /^DTEND/, 'DTEND;VALUE=DATE:20260330'],
    ['a repetition', /^TRANSP/, 'RRULE:FREQ=DAILY'],
    ['called off', /^TRANSP/, 'STATUS:CANCELLED'],
    ['nonsense for a time', /^DTSTART/, 'DTSTART:tomorrow'],
  ])('%s cannot be read as an item', (_name, line, replacement) => {
    const content = fromCalendarObject(withLine(written, line, replacement));
    expect(content).toMatchObject({ uid: KEY, item: null });
  });

  test.each<[string, RegExp, string, Partial<CalendarItem>]>([
    ['shown to everybody', /^CLASS/, 'CLASS:PUBLIC', { visibility: 'default' }],
    ['tentative', /^TRANSP/, 'STATUS:TENTATIVE', { tentative: true }],
  ])('%s are read as another item', (_name, line, replacement, expected) => {
    const { item } = objectWith({});
    const read = fromCalendarObject(withLine(written, line, replacement))?.item ?? null;
    expect(read).toEqual({ ...item, ...expected });
    expect(isSameItem(read, item)).toBe(false);
  });

  test.each([
    ['a path before the zone', /^DTSTART/, 'DTSTART;TZID=/example.org/20260101_1/Europe/Rome:20260329T090000'],
    ['everything in UTC', /^DTSTART/, 'DTSTART:20260329T070000Z'],
    ['a duration for the end', /^DTEND/, 'DURATION:PT30M'],
    ['no word on its class', /^CLASS/, 'COMMENT:stripped'],
    ['a guest', /^CLASS/, 'ATTENDEE:mailto:somebody@example.com'],
    ['a colour', /^CLASS/, 'COLOR:turquoise'],
    ['properties unknown to us', /^CLASS/, 'X-ELSE;X-P="a:b":1'],
  ])('%s is the same item still', (_name, line, replacement) => {
    expect(isSameItem(itemOf(withLine(written, line, replacement)) ?? null, objectWith({}).item)).toBe(true);
  });

  test.each(['', 'hello', 'BEGIN:VCALENDAR\r\nBEGIN:VEVENT', 'BEGIN:VCALENDAR\r\nEND:VCALENDAR', '<html></html>'])(
    'what is no event is nothing: %j',
    (text) => {
      expect(fromCalendarObject(text)).toBeNull();
    },
  );

  test('another time, title, place or zone is another item', () => {
    const { item } = objectWith({ description: 'one' });
    const moved = timedFrom('Europe/Rome', Date.UTC(2026, 2, 29, 8));
    for (const change of [{ title: 'x' }, { description: null }, { location: 'x' }, { busy: false }, { time: moved }]) {
      expect(isSameItem({ ...item, ...change }, item)).toBe(false);
    }
    expect(isSameItem(null, item)).toBe(false);
    expect(isSameItem({ ...item, time: { ...item.time, zone: 'Europe/Paris' } as CalendarItem['time'] }, item)).toBe(
      false,
    );
  });
});

describe('what an event comes with', () => {
  const presets = {
    colour: 'red',
    category: 'Surgery',
    reminderMinutes: 15,
    pageUrl: 'https://clinic.example/a/1?x=1,2;3',
    teleVisitUrl: 'https://visit.example/r/7',
  } as const;
  const text = toCalendarObject(objectWith({ presets }));
  /** Returns the object with one line replaced, as after a client's change. */
  const touched = (line: RegExp, replacement: string) => fromCalendarObject(withLine(text, line, replacement))!;
  const rewritten = (stored: ReturnType<typeof touched>, wanted?: CalendarItem['presets']) =>
    linesOf(toCalendarObject(objectWith(wanted === undefined ? {} : { presets: wanted }, { stored })));

  test('is written in the words of the standards, and read back', () => {
    const lines = linesOf(text);
    for (const line of [
      'COLOR:red',
      'CATEGORIES:Surgery',
      'URL:https://clinic.example/a/1?x=1,2;3',
      'CONFERENCE;FEATURE=VIDEO;VALUE=URI:https://visit.example/r/7',
    ])
      expect(lines).toContain(line);
    expect(text).toContain('BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT15M\r\n');
    const read = fromCalendarObject(text)!;
    expect(read.item?.presets).toEqual(presets);
    expect(read).toMatchObject({ userText: '', presets: { theirs: new Set() } });
    expect(versionTagOf('"1"', read)).toBe('"1"');
  });

  test('is no alert at all, as Apple’s programs write it', () => {
    const object = toCalendarObject(objectWith({ presets: { reminderMinutes: 'none' } }));
    expect(object).toContain(
      'BEGIN:VALARM\r\nACTION:NONE\r\nTRIGGER;VALUE=DATE-TIME:19760401T005545Z\r\nX-APPLE-DEFAULT-ALARM:TRUE\r\nEND:VALARM',
    );
    expect(fromCalendarObject(object)).toMatchObject({ userText: '', item: { presets: { reminderMinutes: 'none' } } });
  });

  test('is removed completely if the clinic no longer sets it', () => {
    const lines = rewritten(fromCalendarObject(text)!).join('\n');
    expect(lines).not.toMatch(/COLOR|CATEGORIES|URL:|CONFERENCE|VALARM|PRESETS/);
  });

  test.each<[string, RegExp, string]>([
    ['another colour', /^COLOR:/, 'COLOR:turquoise'],
    ['another address', /^URL:/, 'URL:https://elsewhere.example/'],
    ['another meeting', /^CONFERENCE/, 'CONFERENCE;VALUE=URI:https://elsewhere.example/'],
    ['another time to remind', /^TRIGGER/, 'TRIGGER:-PT1H'],
    ['a reminder that was seen', /^DESCRIPTION:Reminder/, 'ACKNOWLEDGED:20260329T064500Z'],
  ])('belongs to the user if it is %s: unchanged, and no drift', (_, line, replacement) => {
    const stored = touched(line, replacement);
    expect(stored.item?.presets).toEqual(presets);
    expect(versionTagOf('"1"', stored)).toBe('W/"1"');
    const lines = rewritten(stored, { ...presets, colour: 'green', reminderMinutes: 30 });
    expect(lines).toContain(replacement);
    expect(lines.filter((one) => one.startsWith(replacement.split(/[:;]/)[0]!))).toHaveLength(1);
    expect(lines.filter((one) => one === 'BEGIN:VALARM')).toHaveLength(1);
  });

  test('is not restored after a user removed it, and the next write checks the object', () => {
    const stored = touched(/^COLOR:/, '');
    expect(versionTagOf('"1"', stored)).toBe('W/"1"');
    expect(rewritten(stored, { ...presets, colour: 'green' }).join('\n')).not.toContain('COLOR');
  });

  test('is kept next to the categories of a user', () => {
    const stored = touched(/^CATEGORIES:/, 'CATEGORIES:Private,Surgery,Red');
    const lines = rewritten(stored, { ...presets, category: 'Check-up' });
    expect(lines.filter((one) => one.startsWith('CATEGORIES'))).toEqual([
      'CATEGORIES:Check-up',
      'CATEGORIES:Private,Red',
    ]);
  });

  test('says whether it is certain, and who may read it', () => {
    const lines = linesOf(toCalendarObject(objectWith({ tentative: true, visibility: 'default' })));
    expect(lines).toEqual(expect.arrayContaining(['STATUS:TENTATIVE', 'CLASS:PUBLIC', 'TRANSP:OPAQUE']));
  });
});

describe('a description where we write none', () => {
  const text = toCalendarObject(objectWith({}));
  const noted = fromCalendarObject(withLine(text, /^SUMMARY/, 'SUMMARY:Appointment\r\nDESCRIPTION:Ring\\, twice'))!;

  test('belongs to the user: it is not in the item, and is kept until the clinic sends one', () => {
    expect(noted).toMatchObject({ descriptionParts: { theirs: 'Ring, twice' }, item: { description: null } });
    expect(versionTagOf('"1"', noted)).toBe('W/"1"');
    const kept = linesOf(toCalendarObject(objectWith({}, { stored: noted })));
    expect(kept).toContain('DESCRIPTION:Ring\\, twice');
    const ours = linesOf(toCalendarObject(objectWith({ description: 'Ours' }, { stored: noted })));
    expect(ours.filter((line) => line.startsWith('DESCRIPTION'))).toEqual([
      'DESCRIPTION:Ours\\n--------\\nRing\\, twice',
    ]);
  });

  test('belongs to clinic-mirror in an older event without a mark of ownership', () => {
    const before = withLine(text, /^X-CLINIC-MIRROR-NOTES/, 'DESCRIPTION:Old');
    expect(fromCalendarObject(before)).toMatchObject({
      descriptionParts: { theirs: '' },
      item: { description: 'Old' },
    });
  });
});
