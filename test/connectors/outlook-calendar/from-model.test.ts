import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toDescriptionStamp, toPresetsText } from '../../../src/connectors/event-content.ts';
import type { LabelsToWrite } from '../../../src/connectors/labels.ts';
import {
  holds,
  normaliseItem,
  readOwnEvent,
  toBlankPatch,
  toEvent,
  toPatch,
  toRemoteItem,
  UNTOUCHED,
} from '../../../src/connectors/outlook-calendar/from-model.ts';
import { htmlToText } from '../../../src/connectors/outlook-calendar/html.ts';
import type { CalendarItem } from '../../../src/core/model/items.ts';
import { toZonedIso } from '../../../src/core/model/time.ts';
import { allDay, itemWith, timed } from '../../contract/contract-kit.ts';
import { property } from '../../contract/outlook-calendar-target.ts';
import { items, times, ZONES } from '../written-items.ts';

const ROME = { wholeDayZone: 'Europe/Rome', refusedZones: new Set<string>() };

const STAMP: Required<LabelsToWrite> = {
  ownerTag: 'contractmark0000',
  key: 'k'.repeat(32),
  sealedRecordId: 'v1.LocatorInBothCases',
  revision: 9,
};

/** Graph returns times in UTC, whichever zone was written. */
const inUtc = (wholeDayZone = 'UTC') => ({ wholeDayZone, refusedZones: new Set(ZONES) });

/** The event as Graph would answer with it: with id and etag, and what the server makes of the content. */
function stored(item: CalendarItem, changes: object = {}, wholeDayZone = 'UTC'): object {
  return { id: 'AAkALg', '@odata.etag': 'W/"1"', ...toEvent(item, STAMP, inUtc(wholeDayZone)), ...changes };
}

function read(event: object, wholeDayZone = 'UTC') {
  return readOwnEvent(event, { ownerTag: STAMP.ownerTag, wholeDayZone });
}

describe('an event in an unknown form', () => {
  test('exists, if its transaction id is a key or its id is stored', () => {
    const damaged = { attendees: 'none', singleValueExtendedProperties: undefined };
    const unread = { key: STAMP.key, remoteId: 'AAkALg', item: null, unreadable: true };
    const named = read(stored(itemWith(), { ...damaged, transactionId: STAMP.key }));
    expect(toRemoteItem(named!)).toMatchObject(unread);
    const scope = { ownerTag: STAMP.ownerTag, wholeDayZone: 'UTC' };
    expect(toRemoteItem(readOwnEvent(stored(itemWith(), damaged), scope, STAMP.key)!)).toMatchObject(unread);
    expect(read(stored(itemWith(), damaged))).toBeNull();
  });

  test('exists with a body of more than 200,000 characters, which is not read', () => {
    const withBody = (length: number) => ({ body: { contentType: 'html', content: '<b>'.padEnd(length, 'x') } });
    const long = read(stored(itemWith(), withBody(200_001)));
    expect(toRemoteItem(long!)).toMatchObject({ key: STAMP.key, remoteId: 'AAkALg', item: null, unreadable: true });
    expect(read(stored(itemWith(), withBody(200_000)))?.unreadable).toBeUndefined();
  });
});

describe('an item as an event', () => {
  test('comes back as its normal form', () => {
    fc.assert(
      fc.property(items, (item) => {
        expect(read(stored(item))?.item).toEqual(normaliseItem(item));
      }),
    );
  });

  test('has a normal form that is its own normal form', () => {
    fc.assert(
      fc.property(items, (item) => {
        expect(normaliseItem(normaliseItem(item))).toEqual(normaliseItem(item));
      }),
    );
  });

  test.each([
    [255, 'a'.repeat(255), 'a'.repeat(255)],
    [256, 'a'.repeat(256), `${'a'.repeat(254)}…`],
    ['256 in whole characters', `${'a'.repeat(253)}👩🏽‍⚕️`, `${'a'.repeat(253)}…`],
  ])('has a title and a location of at most 255 characters: %s', (_, text, expected) => {
    const item = itemWith({ title: text, location: text });
    expect(toEvent(item, STAMP, ROME)).toMatchObject({ subject: expected, location: { displayName: expected } });
  });

  test('of which nothing shows has no title', () => {
    for (const title of [' ', '\u200b\u2060', '\u3164', '\ufeff\u00ad']) {
      expect(toEvent(itemWith({ title }), STAMP, ROME).subject).toBe('');
    }
    expect(toEvent(itemWith({ title: 'علي\u200cرضا' }), STAMP, ROME).subject).toBe('علي\u200cرضا');
  });

  test('is private, has no guests or reminder, uses the zone of the clinic, and carries the owner tag, key, encrypted record id and zone', () => {
    expect(toEvent(itemWith({ description: 'one\r\ntwo' }), STAMP, ROME)).toEqual({
      subject: 'Appointment',
      body: { contentType: 'text', content: 'one\ntwo' },
      location: { displayName: '' },
      isAllDay: false,
      start: { dateTime: '2027-03-10T09:00:00', timeZone: 'Europe/Rome' },
      end: { dateTime: '2027-03-10T09:30:00', timeZone: 'Europe/Rome' },
      showAs: 'busy',
      sensitivity: 'private',
      isReminderOn: false,
      singleValueExtendedProperties: [
        { id: property('MirrorMark'), value: STAMP.ownerTag },
        { id: property('MirrorKey'), value: STAMP.key },
        { id: property('MirrorLocator'), value: STAMP.sealedRecordId },
        { id: property('MirrorRevision'), value: '9' },
        { id: property('MirrorNotes'), value: toDescriptionStamp('one\ntwo') },
        { id: property('MirrorZone'), value: 'Europe/Rome' },
      ],
    });
  });

  test('an all-day event begins at midnight in its zone, and is read with the same dates in every format of Graph', () => {
    const item = itemWith({ time: allDay('2027-05-01', '2027-05-02') });
    const rome = 'Europe/Rome';
    expect(toEvent(item, STAMP, ROME)).toMatchObject({
      isAllDay: true,
      start: { dateTime: '2027-05-01T00:00:00', timeZone: rome },
      end: { dateTime: '2027-05-02T00:00:00', timeZone: rome },
    });
    const told = (start: string, end: string) => ({
      start: { dateTime: `${start}.0000000`, timeZone: 'UTC' },
      end: { dateTime: `${end}.0000000`, timeZone: 'UTC' },
    });
    const asMidnight = stored(item, told('2027-05-01T00:00:00', '2027-05-02T00:00:00'), rome);
    const asInstant = stored(item, told('2027-04-30T22:00:00', '2027-05-01T22:00:00'), rome);
    const moved = stored(item, told('2027-04-30T21:00:00', '2027-05-01T21:00:00'), rome);
    expect(read(asMidnight, rome)?.item).toEqual(item);
    expect(read(asInstant, rome)?.item).toEqual(item);
    expect(read(moved, rome)?.item).toBeNull();
  });
});

describe('an event as an item', () => {
  test('seven digits and another original zone change nothing', () => {
    const times = {
      start: { dateTime: '2027-03-10T08:00:00.0000000', timeZone: 'UTC' },
      end: { dateTime: '2027-03-10T08:30:00.0000000', timeZone: 'UTC' },
      originalStartTimeZone: 'tzone://Microsoft/Custom',
    };
    expect(read(stored(itemWith(), times))?.item).toEqual(itemWith());
  });

  test.each(['W. Europe Standard Time', 'Europe/Rome', 'tzone://Microsoft/Custom'])(
    'a time outside of UTC although UTC was requested is not guessed: %s',
    (timeZone) => {
      const start = { dateTime: '2027-03-10T09:00:00.0000000', timeZone };
      expect(read(stored(itemWith(), { start, end: start }))?.item).toBeNull();
    },
  );

  test.each<[string, object]>([
    ['belongs to a series', { type: 'occurrence' }],
    ['was cancelled', { isCancelled: true }],
    ['is personal or confidential', { sensitivity: 'personal' }],
    ['is out of office', { showAs: 'oof' }],
    ['lost its zone', { singleValueExtendedProperties: [{ id: property('MirrorMark'), value: STAMP.ownerTag }] }],
    ['has no times', { start: null }],
  ])('belongs to clinic-mirror without an item if it %s', (_what, changes) => {
    expect(read(stored(itemWith(), changes))).toMatchObject({ id: 'AAkALg', item: null });
  });

  test('belongs to clinic-mirror only with the exact owner tag, though Graph ignores case', () => {
    const marked = (value: string) => ({ singleValueExtendedProperties: [{ id: property('MirrorMark'), value }] });
    expect(read(stored(itemWith(), marked(STAMP.ownerTag.toUpperCase())))).toBeNull();
    expect(read(stored(itemWith(), { singleValueExtendedProperties: null }))).toBeNull();
    expect(read({ newThing: 1 })).toBeNull();
  });

  test('is known by its properties when the server writes their ids in upper case', () => {
    const event = stored(itemWith()) as { singleValueExtendedProperties: { id: string; value: string }[] };
    const properties = event.singleValueExtendedProperties.map(({ id, value }) => ({
      id: id.replace(/\{.*\}/, (guid) => guid.toUpperCase()),
      value,
    }));
    expect(read({ ...event, singleValueExtendedProperties: properties })).toMatchObject({
      sealedRecordId: STAMP.sealedRecordId,
    });
  });

  test.each<[string, object]>([
    ['guests', { attendees: [{ emailAddress: { address: 'a@example.org' } }] }],
    ['a category and a reminder', { categories: ['Red'], isReminderOn: true }],
    ['a note where we write none', { body: { contentType: 'html', content: '<p>Ring twice</p>' } }],
  ])('is unchanged despite additions by a user: %s', (_, changes) => {
    const event = read(stored(itemWith(), changes))!;
    expect(event.item).toEqual(itemWith());
    expect(holds(event, { item: itemWith(), revision: 9, sealedRecordId: STAMP.sealedRecordId })).toBe(true);
  });

  test('has no version tag for its next write while guests would be mailed for it, or a note cleared', () => {
    const tagOf = (item: CalendarItem, changes: object = {}) => toRemoteItem(read(stored(item, changes))!).versionTag;
    expect(tagOf(itemWith())).toBe('W/"1"');
    expect(tagOf(itemWith(), { attendees: [{}] })).toBeNull();
    expect(tagOf(itemWith(), { body: { contentType: 'text', content: 'Ring twice' } })).toBeNull();
    expect(tagOf(itemWith({ description: 'Ours' }))).toBe('W/"1"');
    expect(tagOf(itemWith(), { body: { contentType: 'html', content: '<html><body><br></body></html>' } })).toBe(
      'W/"1"',
    );
  });

  test('is of no record when it was emptied', () => {
    const emptied = { ...stored(itemWith()), ...toBlankPatch(STAMP, inUtc(), UNTOUCHED) };
    expect(read(emptied)).toMatchObject({ key: STAMP.key, sealedRecordId: null });
    expect(read(emptied)).not.toHaveProperty('revision');
  });

  test('contains an item only with its content and its encrypted record id', () => {
    const event = read(stored(itemWith()))!;
    expect(holds(event, { item: itemWith(), revision: 9, sealedRecordId: STAMP.sealedRecordId })).toBe(true);
    expect(
      holds(event, { item: itemWith({ title: 'Other' }), revision: 9, sealedRecordId: STAMP.sealedRecordId }),
    ).toBe(false);
    expect(
      holds(event, { item: itemWith(), revision: 10, sealedRecordId: STAMP.sealedRecordId }),
      'another write',
    ).toBe(false);
    expect(
      holds(
        { ...event, sealedRecordId: null },
        { item: itemWith(), revision: 9, sealedRecordId: STAMP.sealedRecordId },
      ),
    ).toBe(false);
  });
});

describe('bodies as Exchange stores them', () => {
  const wrap = (content: string) =>
    `<html>\r\n<head>\r\n<meta charset="utf-8"><style>p { color: red }</style>\r\n</head>\r\n<body>\r\n${content}\r\n</body>\r\n</html>\r\n`;

  test.each([
    ['<div class="PlainText">one<br>\r\ntwo<br>\r\n<br>\r\nfour</div>', 'one\ntwo\n\nfour'],
    ['<p>one</p>\r\n<p>two &lt;b&gt; &amp;amp; &quot;x&quot; &#39;y&#39; &#xE8;</p>', 'one\ntwo <b> &amp; "x" \'y\' è'],
    ['<!-- StartFragment --><b>bold</b>&nbsp;text', 'bold text'],
    ['a wrapped\r\nline &unknown; &#99999999;', 'a wrapped line &unknown; &#99999999;'],
  ])('%j read as their text', (html, text) => {
    expect(htmlToText(wrap(html)).trim()).toBe(text);
    const description = normaliseItem(itemWith({ description: text })).description;
    const body = { contentType: 'html', content: wrap(html) };
    expect(read(stored(itemWith({ description: 'Ours' }), { body }))?.item?.description).toBe(description);
  });

  test('of several lines in CRLF with a line end at the end make no difference', () => {
    const item = itemWith({ description: 'one\ntwo' });
    const event = read(stored(item, { body: { contentType: 'text', content: 'one\r\ntwo\r\n' } }))!;
    expect(holds(event, { item, revision: 9, sealedRecordId: STAMP.sealedRecordId })).toBe(true);
  });
});

describe('the times of an event on the wire', () => {
  const written = (time: CalendarItem['time'], refused: string[] = []) => {
    const { start, end } = toEvent(itemWith({ time }), STAMP, { ...ROME, refusedZones: new Set(refused) });
    return { start, end };
  };

  test('are those of the clinic’s clock, and mean the same instants', () => {
    fc.assert(
      fc.property(times, (time) => {
        const { start, end } = written(time);
        if (time.kind !== 'timed') return;
        for (const [told, meant] of [
          [start, time.start],
          [end, time.end],
        ] as const) {
          const at = Date.parse(meant);
          expect(told.dateTime).toBe(toZonedIso(told.timeZone, at).slice(0, 19));
          expect([time.zone, 'UTC']).toContain(told.timeZone);
        }
      }),
    );
  });

  test('are in UTC where the clock shows them twice, both of them', () => {
    const time = timed('2027-10-31T01:30:00+02:00', '2027-10-31T02:30:00+01:00', 'Europe/Rome');
    expect(written(time)).toEqual({
      start: { dateTime: '2027-10-30T23:30:00', timeZone: 'UTC' },
      end: { dateTime: '2027-10-31T01:30:00', timeZone: 'UTC' },
    });
  });

  test('are in UTC where Outlook does not know the zone', () => {
    const time = timed('2027-03-10T09:00:00+01:00', '2027-03-10T09:30:00+01:00', 'Europe/Rome');
    expect(written(time, ['Europe/Rome']).start).toEqual({ dateTime: '2027-03-10T08:00:00', timeZone: 'UTC' });
    const day = written(allDay('2027-05-01', '2027-05-02'), ['Europe/Rome']);
    expect(day.start).toEqual({ dateTime: '2027-05-01T00:00:00', timeZone: 'UTC' });
  });
});

describe('what an event comes with', () => {
  const presets = { category: 'Surgery', reminderMinutes: 15 };
  const touched = (changes: object) => read(stored(itemWith({ presets }), changes))!;
  const patch = (event: ReturnType<typeof touched>, wanted?: CalendarItem['presets']) =>
    toPatch(itemWith(wanted === undefined ? {} : { presets: wanted }), STAMP, ROME, event);

  test('is written with it, and read back', () => {
    const event = toEvent(itemWith({ presets }), STAMP, ROME);
    expect(event).toMatchObject({ categories: ['Surgery'], isReminderOn: true, reminderMinutesBeforeStart: 15 });
    expect(touched({}).item).toEqual(itemWith({ presets }));
  });

  test('changes next to other categories of a user, in any order', () => {
    const event = touched({ categories: ['Private', 'Surgery', 'Red'] });
    expect(patch(event, { category: 'Check-up' })).toMatchObject({
      categories: ['Private', 'Red', 'Check-up'],
      isReminderOn: false,
    });
    expect(patch(event)).toMatchObject({ categories: ['Private', 'Red'] });
    expect(patch(event, presets)).not.toHaveProperty('categories');
  });

  test('is not in the change if a user removed or changed it', () => {
    const changed = patch(touched({ categories: ['Private'], reminderMinutesBeforeStart: 30 }), {
      category: 'Check-up',
    });
    for (const name of ['categories', 'isReminderOn', 'reminderMinutesBeforeStart']) {
      expect(changed).not.toHaveProperty(name);
    }
  });

  test('makes the next write look first', () => {
    expect(toRemoteItem(touched({})).versionTag).toBeNull();
  });

  test('is removed by an erasure, and the stamp keeps no trace', () => {
    expect(toBlankPatch(STAMP, ROME, touched({}))).toMatchObject({
      categories: [],
      singleValueExtendedProperties: expect.arrayContaining([
        { id: property('MirrorPresets'), value: toPresetsText({}) },
      ]),
    });
  });
});
