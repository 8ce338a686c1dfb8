import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { deletableTag, writableTag } from '../../../src/connectors/event-content.ts';
import {
  holds,
  normaliseItem,
  readOwnEvent,
  toEvent,
  toPatch,
  toRemoteItem,
  UNTOUCHED,
} from '../../../src/connectors/google-calendar/from-model.ts';
import { type CalendarItem, LONGEST_URL } from '../../../src/core/model/items.ts';
import { allDay, itemWith } from '../../contract/contract-kit.ts';
import { items } from '../written-items.ts';

const MARK = 'contractmark0000';
const STAMP = { ownerTag: MARK, sealedRecordId: 'sealedRecordId', revision: 46_655 };

/** The event as Google would store it: with id and etag, times in the calendar's zone. */
function stored(item: CalendarItem, changes: object = {}): object {
  return { id: 'abcde', etag: '"1"', ...toEvent(item, STAMP), ...changes };
}

describe('an item as an event', () => {
  test('comes back as its normal form', () => {
    fc.assert(
      fc.property(items, (item) => {
        expect(readOwnEvent(stored(item), MARK)?.item).toEqual(normaliseItem(item));
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

  test('is private, without guests and reminders, and carries owner tag and locator', () => {
    expect(toEvent(itemWith(), STAMP)).toEqual({
      status: 'confirmed',
      summary: 'Appointment',
      start: { dateTime: '2027-03-10T09:00:00+01:00', timeZone: 'Europe/Rome' },
      end: { dateTime: '2027-03-10T09:30:00+01:00', timeZone: 'Europe/Rome' },
      visibility: 'private',
      transparency: 'opaque',
      reminders: { useDefault: false, overrides: [] },
      extendedProperties: {
        private: {
          clinicMirror: MARK,
          clinicMirrorLocator: 'sealedRecordId',
          clinicMirrorRevision: 'zzz',
          clinicMirrorNotes: 'theirs',
        },
      },
    });
  });

  test('shows HTML in its description as text', () => {
    const event = toEvent(itemWith({ description: '<a href="x">&amp;</a>' }), STAMP);
    expect(event).toMatchObject({ description: '&lt;a href="x"&gt;&amp;amp;&lt;/a&gt;' });
  });
});

describe('a change of an existing event', () => {
  const patched = (item: CalendarItem, theirs = '') =>
    toPatch(item, STAMP, { ...UNTOUCHED, descriptionParts: { ours: null, theirs } });

  test('clears what an item no longer says, and the kind of time that it no longer has', () => {
    expect(patched(itemWith())).toMatchObject({
      description: null,
      location: null,
      start: { date: null, dateTime: '2027-03-10T09:00:00+01:00', timeZone: 'Europe/Rome' },
    });
    expect(patched(itemWith({ time: allDay('2027-01-01', '2027-01-03') }))).toMatchObject({
      start: { date: '2027-01-01', dateTime: null, timeZone: null },
      end: { date: '2027-01-03', dateTime: null, timeZone: null },
    });
  });

  test('keeps the note of a user below the text of clinic-mirror, which is shortened if both are too long', () => {
    expect(patched(itemWith(), '<b>Ring</b>')).not.toHaveProperty('description');
    const both = patched(itemWith({ description: 'A & B' }), '<b>Ring</b>');
    expect(both).toMatchObject({ description: 'A &amp; B\n--------\n<b>Ring</b>' });
    const long = 'x'.repeat(8_150);
    const { description } = patched(itemWith({ description: 'Ours '.repeat(100) }), long) as { description: string };
    expect(description.length).toBeLessThanOrEqual(8_192);
    expect(description.endsWith(`\n--------\n${long}`)).toBe(true);
    const full = 'x'.repeat(8_192);
    expect(patched(itemWith({ description: 'Ours' }), full)).not.toHaveProperty('description');
  });
});

describe('a description that is longer than Google takes', () => {
  test.each([
    ['plain', 'word '.repeat(4_000)],
    ['of escaped characters', '&<>'.repeat(8_000)],
    ['mixed', `${'word '.repeat(1_500)}${'&'.repeat(4_000)}`],
  ])('is shortened with its escapes counted: %s', (_, description) => {
    const { description: sent } = toEvent(itemWith({ description }), STAMP) as { description: string };
    expect(sent.length).toBeLessThanOrEqual(8_192);
    expect(sent.length).toBeGreaterThan(4_000);
    expect(sent).toMatch(/…$/);
    const { item } = readOwnEvent(stored(itemWith({ description })), MARK)!;
    expect(item).toEqual(normaliseItem(itemWith({ description })));
  });
});

describe('an event as an item', () => {
  test("is the same whatever the calendar's zone", () => {
    const item = itemWith();
    const start = { dateTime: '2027-03-10T03:00:00-05:00', timeZone: 'Europe/Rome' };
    const end = { dateTime: '2027-03-10T08:30:00Z', timeZone: 'Europe/Rome' };
    expect(readOwnEvent(stored(item, { start, end }), MARK)?.item).toEqual(item);
  });

  test.each([
    ['a series', { recurrence: ['RRULE:FREQ=DAILY'] }],
    ['shown to everybody', { visibility: 'public' }],
    ['another kind of event', { eventType: 'focusTime' }],
    ['two zones', { end: { dateTime: '2027-03-10T09:30:00+01:00', timeZone: 'Europe/Paris' } }],
    ['no zone', { start: { dateTime: '2027-03-10T09:00:00+01:00' }, end: { dateTime: '2027-03-10T09:30:00+01:00' } }],
    ['no end', { end: undefined }],
    ['a title that is no text', { summary: 5 }],
  ])('is none with %s, and is written again', (_, changes) => {
    const event = readOwnEvent(stored(itemWith(), changes), MARK);
    expect(event).toMatchObject({ id: 'abcde', etag: '"1"', sealedRecordId: 'sealedRecordId', item: null });
    expect(holds(event!, { item: itemWith(), revision: 46_655, sealedRecordId: STAMP.sealedRecordId })).toBe(false);
  });

  test.each<[string, object, Partial<CalendarItem>]>([
    ['the calendar’s visibility', { visibility: undefined }, { visibility: 'default' }],
    ['tentative', { status: 'tentative' }, { tentative: true }],
  ])('is another one with %s, and is written again', (_, changes, expected) => {
    const event = readOwnEvent(stored(itemWith(), changes), MARK)!;
    expect(event.item).toEqual(itemWith(expected));
    expect(holds(event, { item: itemWith(), revision: 46_655, sealedRecordId: STAMP.sealedRecordId })).toBe(false);
  });

  test.each<[string, object]>([
    ['guests', { attendees: [{ email: 'a@example.org' }] }],
    ['a colour and reminders', { colorId: '5', reminders: { useDefault: true } }],
    ['a note where we write none', { description: 'Ring twice' }],
  ])('is unchanged despite additions by a user: %s', (_, changes) => {
    const event = readOwnEvent(stored(itemWith(), changes), MARK)!;
    expect(event.item).toEqual(itemWith());
    expect(holds(event, { item: itemWith(), revision: 46_655, sealedRecordId: STAMP.sealedRecordId })).toBe(true);
  });

  test('has no version tag for its next write if it contains a note of a user, and one if it contains only the text of clinic-mirror', () => {
    const tagOf = (item: CalendarItem, changes: object = {}) =>
      toRemoteItem(readOwnEvent(stored(item, changes), MARK)!).versionTag;
    expect(tagOf(itemWith())).toBe('"1"');
    expect(tagOf(itemWith(), { description: 'Ring twice' })).toBeNull();
    expect(tagOf(itemWith({ description: 'Ours' }))).toBe('"1"');
  });

  test('in an unknown form exists, if its id is a key', () => {
    const damaged = { extendedProperties: { private: { clinicMirror: 7 } } };
    const event = readOwnEvent(stored(itemWith(), { id: 'k'.repeat(32), ...damaged }), MARK)!;
    expect(toRemoteItem(event)).toMatchObject({ key: 'k'.repeat(32), item: null, unreadable: true });
    expect(readOwnEvent(stored(itemWith(), { id: 'foreign', ...damaged }), MARK)).toBeNull();
  });

  test('with a description longer than any that is read is unreadable, and is not deleted', () => {
    const id = 'k'.repeat(32);
    const event = readOwnEvent(stored(itemWith(), { id, description: '<b'.repeat(1_000_000) }), MARK)!;
    expect(toRemoteItem(event)).toMatchObject({ key: id, item: null, unreadable: true });
  });

  test('is foreign without the owner tag, with another tag, or without an id', () => {
    const properties = (private_: object) => ({ extendedProperties: { private: private_ } });
    expect(readOwnEvent(stored(itemWith(), { id: 'foreign', extendedProperties: undefined }), MARK)).toBeNull();
    expect(readOwnEvent(stored(itemWith(), properties({ clinicMirror: 'othertargetmark0' })), MARK)).toBeNull();
    expect(readOwnEvent(stored(itemWith(), { id: undefined }), MARK)).toBeNull();
    expect(readOwnEvent('text', MARK)).toBeNull();
  });

  test('is written again if its encrypted record id was removed', () => {
    const properties = { extendedProperties: { private: { clinicMirror: MARK } } };
    expect(
      holds(readOwnEvent(stored(itemWith(), properties), MARK)!, {
        item: itemWith(),
        revision: 46_655,
        sealedRecordId: STAMP.sealedRecordId,
      }),
    ).toBe(false);
    expect(
      holds(readOwnEvent(stored(itemWith()), MARK)!, {
        item: itemWith(),
        revision: 46_655,
        sealedRecordId: STAMP.sealedRecordId,
      }),
    ).toBe(true);
  });
});

describe('what an event comes with', () => {
  const presets = { colour: 'gold', reminderMinutes: 15, pageUrl: 'https://clinic.example/a/1' } as const;
  const touched = (changes: object = {}) => readOwnEvent(stored(itemWith({ presets }), changes), MARK)!;
  const patch = (event: ReturnType<typeof touched>, wanted: CalendarItem['presets']) =>
    toPatch(itemWith(wanted === undefined ? {} : { presets: wanted }), STAMP, event);

  test('is written with it, and read back', () => {
    expect(stored(itemWith({ presets }))).toMatchObject({
      colorId: '5',
      reminders: { useDefault: false, overrides: [{ method: 'popup', minutes: 15 }] },
      source: { url: 'https://clinic.example/a/1', title: 'clinic.example' },
    });
    expect(touched()).toMatchObject({ item: itemWith({ presets }), presets: { last: presets, theirs: new Set() } });
  });

  test.each<[string, object, string]>([
    ['another colour', { colorId: '11' }, 'colorId'],
    ['a colour of later', { colorId: 'ultraviolet' }, 'colorId'],
    ['no colour', { colorId: undefined }, 'colorId'],
    ['the calendar’s own reminders', { reminders: { useDefault: true } }, 'reminders'],
    ['a mail', { reminders: { useDefault: false, overrides: [{ method: 'email', minutes: 15 }] } }, 'reminders'],
    // Google shows the source only to the creator of the event.
    ['a source that is not shown', { source: undefined }, 'source'],
  ])('belongs to the user if it is %s: no drift, and not in the next change', (_, changes, field) => {
    const event = touched(changes);
    expect(event.item).toEqual(itemWith({ presets }));
    const others = ['colorId', 'reminders', 'source'].filter((one) => one !== field);
    const changed = patch(event, undefined);
    expect(changed).not.toHaveProperty(field);
    for (const other of others) expect(changed).toHaveProperty(other);
  });

  test('leaves with what is cleared', () => {
    expect(patch(touched(), undefined)).toMatchObject({
      colorId: null,
      reminders: { useDefault: false, overrides: [] },
      source: null,
      extendedProperties: { private: { clinicMirrorPresets: null } },
    });
  });

  test('makes the next write look first, and costs the updates of events without it nothing', () => {
    expect(toRemoteItem(touched()).versionTag).toBeNull();
    const plain = readOwnEvent(stored(itemWith(), { colorId: '3' }), MARK)!;
    expect(writableTag(toRemoteItem(plain).versionTag)).toBe('"1"');
    expect(deletableTag(toRemoteItem(plain).versionTag)).toBeNull();
  });

  test('goes into a stamp that Google takes, at its longest', () => {
    const pageUrl = `https://clinic.example/${'x'.repeat(LONGEST_URL)}`;
    const { extendedProperties } = toEvent(itemWith({ presets: { ...presets, pageUrl } }), STAMP) as {
      extendedProperties: { private: Record<string, string> };
    };
    expect(extendedProperties.private.clinicMirrorPresets?.length).toBeLessThan(1_024);
  });
});
