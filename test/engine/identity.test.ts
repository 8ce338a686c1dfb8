import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import { CALENDAR_FORM, crmForm } from '../../src/domain/item-forms.ts';
import { createTargetIdentity, isSameContent } from '../../src/engine/identity.ts';
import { asOfFirstVersion, items, recordIds } from '../domain/arbitraries.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);
const identity = createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'doctor', CALENDAR_FORM);
const others = {
  'another tenant': createTargetIdentity(IDENTITY_KEY, 'studio-bianchi', 'doctor', CALENDAR_FORM),
  'another target': createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'nurse', CALENDAR_FORM),
  'another installation': createTargetIdentity(Buffer.alloc(32, 8), 'studio-rossi', 'doctor', CALENDAR_FORM),
};

const ITEM: CalendarItem = {
  title: 'Appointment',
  description: 'Room 1',
  location: 'Via Roma',
  time: { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' },
  busy: true,
};

describe('a key', () => {
  test('is legal everywhere, the same each time and another one in each epoch', () => {
    fc.assert(
      fc.property(recordIds, fc.nat(8), (recordId, epoch) => {
        const key = identity.key(recordId, epoch);
        expect(key).toMatch(/^[0-9a-v]{32}$/);
        expect(identity.key(recordId, epoch)).toBe(key);
        expect(identity.key(recordId, epoch + 1)).not.toBe(key);
        expect(identity.idAttemptOf(recordId, key)).toBe(epoch);
      }),
    );
  });

  test('distinguishes records, targets, tenants and installations', () => {
    fc.assert(
      fc.property(recordIds, recordIds, (one, two) => {
        fc.pre(one !== two);
        expect(identity.key(one, 0)).not.toBe(identity.key(two, 0));
        expect(identity.idAttemptOf(two, identity.key(one, 0))).toBeNull();
        for (const other of Object.values(others)) expect(other.key(one, 0)).not.toBe(identity.key(one, 0));
      }),
    );
  });

  test('does not change from one release to the next: names in calendars must be found again', () => {
    expect(identity.key('4711', 0)).toBe('0aqf731vmnjt0kdcfmsb31midnuvdon3');
    expect(identity.ownerTag).toBe('tpemt5h6cigpps6l');
    expect(identity.sealedRecordId('4711')).toBe('wtCoobtX-Pe9TkX8svfghZqwJhgXaHpx1jPOTHxKXSY');
  });

  test('and the owner tag are unambiguous if a name contains a separator', () => {
    const one = createTargetIdentity(IDENTITY_KEY, 'a', 'b-c', CALENDAR_FORM);
    const two = createTargetIdentity(IDENTITY_KEY, 'a-b', 'c', CALENDAR_FORM);
    expect(one.ownerTag).not.toBe(two.ownerTag);
    expect(one.key('1', 0)).not.toBe(two.key('1', 0));
  });
});

test('an owner tag has sixteen characters, one for each target', () => {
  const ownerTags = [identity, ...Object.values(others)].map(({ ownerTag }) => ownerTag);
  for (const ownerTag of ownerTags) expect(ownerTag).toMatch(/^[0-9a-v]{16}$/);
  expect(new Set(ownerTags).size).toBe(ownerTags.length);
});

describe('a locator', () => {
  test('returns its record id, and is the same each time', () => {
    fc.assert(
      fc.property(recordIds, (recordId) => {
        const sealedRecordId = identity.sealedRecordId(recordId);
        expect(identity.recordIdOf(sealedRecordId)).toBe(recordId);
        expect(identity.sealedRecordId(recordId)).toBe(sealedRecordId);
        expect(sealedRecordId).toMatch(/^[A-Za-z0-9_-]+$/);
      }),
    );
  });

  test('does not reveal the record id', () => {
    expect(Buffer.from(identity.sealedRecordId('patient-4711'), 'base64url').toString('latin1')).not.toContain('4711');
  });

  test.each(Object.entries(others))('of %s is refused', (_, other) => {
    fc.assert(fc.property(recordIds, (recordId) => identity.recordIdOf(other.sealedRecordId(recordId)) === null));
  });

  test('altered in one character is refused', () => {
    fc.assert(
      fc.property(recordIds, fc.nat(), fc.integer({ min: 1, max: 255 }), (recordId, place, difference) => {
        const bytes = Buffer.from(identity.sealedRecordId(recordId), 'base64url');
        const index = place % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ difference;
        expect(identity.recordIdOf(bytes.toString('base64url'))).toBeNull();
      }),
    );
  });

  test('typed by a user is always refused', () => {
    fc.assert(fc.property(fc.string(), (text) => identity.recordIdOf(text) === null));
  });
});

describe('a fingerprint', () => {
  test('is the same for equal items, whatever the order of their fields', () => {
    fc.assert(
      fc.property(items, (item) => {
        const reversed = Object.fromEntries(Object.entries(item).reverse()) as unknown as CalendarItem;
        const turned = { ...reversed, time: Object.fromEntries(Object.entries(item.time).reverse()) } as CalendarItem;
        expect(identity.fingerprint(turned)).toBe(identity.fingerprint(item));
        expect(identity.fingerprint(structuredClone(item))).toBe(identity.fingerprint(item));
      }),
    );
  });

  test('differs for items that differ', () => {
    fc.assert(
      fc.property(items, items, (one, two) => {
        fc.pre(JSON.stringify(one) !== JSON.stringify(two));
        expect(identity.fingerprint(one)).not.toBe(identity.fingerprint(two));
      }),
    );
  });

  test('reveals nothing without the key: other tenants and targets hash the same item differently', () => {
    fc.assert(
      fc.property(items, (item) => {
        for (const other of Object.values(others)) expect(other.fingerprint(item)).not.toBe(identity.fingerprint(item));
      }),
    );
  });

  test('is the same by an identity that has seen other items as by one that has seen none', () => {
    const presets = fc.record(
      { colour: fc.constantFrom('red', 'green'), reminderMinutes: fc.constantFrom(5, 10) },
      { requiredKeys: [] },
    );
    // Few strings, so that they repeat; some resemble serialised objects.
    const text = fc.constantFrom('', 'Busy', '[["colour","red"]]', 'null', '-');
    const like = fc
      .record({ title: text, description: fc.option(text), location: fc.option(text), presets: fc.option(presets) })
      .map(
        ({ presets, ...texts }) => ({ ...ITEM, ...texts, ...(presets === null ? {} : { presets }) }) as CalendarItem,
      );
    fc.assert(
      fc.property(fc.array(fc.oneof(like, items), { maxLength: 30 }), (seen) => {
        const [remembering, form] = [
          createTargetIdentity(IDENTITY_KEY, 't', 'd', CALENDAR_FORM),
          crmForm('patients', ['a', 'b']),
        ];
        const crm = createTargetIdentity(IDENTITY_KEY, 't', 'c', form);
        for (const item of seen) {
          const anew = createTargetIdentity(IDENTITY_KEY, 't', 'd', CALENDAR_FORM).fingerprint(item);
          expect(remembering.fingerprint(item)).toBe(anew);
          const object = { properties: { a: item.title, b: item.busy }, contactKey: item.location, startAt: 0 };
          const objectAnew = createTargetIdentity(IDENTITY_KEY, 't', 'c', form).fingerprint(object);
          expect(crm.fingerprint(object)).toBe(objectAnew);
        }
      }),
      { numRuns: 40 },
    );
  });

  test('is 22 characters, so that it fits a link', () => {
    fc.assert(fc.property(items, (item) => /^[\w-]{6}\.[\w-]{15}$/.test(identity.fingerprint(item))));
  });

  test('hints at the one field that changed, and at no other', () => {
    const changes: Partial<CalendarItem>[] = [
      { title: 'Busy' },
      { description: null },
      { location: 'Via Milano' },
      { time: { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-17' } },
      { busy: false },
    ];
    for (const change of changes) expect(differing(ITEM, { ...ITEM, ...change })).toEqual(Object.keys(change));
  });

  test('hints at the field that changed whatever it was changed to', () => {
    const titles = Array.from({ length: 1_000 }, (_, index) => `Appointment ${index}`);
    expect(titles.filter((title) => differing(ITEM, { ...ITEM, title })[0] !== 'title')).toEqual([]);
  });

  test('names fields that differ for items that differ, and nothing for equal ones', () => {
    fc.assert(
      fc.property(items, items, (one, two) => {
        const differs = (field: string) => text(one, field) !== text(two, field);
        const hinted = differing(one, two);
        expect(hinted.length > 0).toBe(['title', 'description', 'location', 'time', 'busy'].some(differs));
        expect(hinted.filter((field) => field !== 'unknown' && !differs(field))).toEqual([]);
        expect(differing(one, structuredClone(one))).toEqual([]);
      }),
    );
  });

  test('whose hints are all those of another says that the field is not known', () => {
    expect(identity.differingFields('aaaaaa.tttdddlllwwwbbb', 'aaaaab.tttdddlllwwwbbb')).toEqual(['unknown']);
  });

  test('is also unequal for an unknown item, and for one of another form', () => {
    const { fingerprint } = createTargetIdentity(
      IDENTITY_KEY,
      'studio-rossi',
      'doctor',
      crmForm('patients', ['email']),
    );
    const contact = fingerprint({ properties: { email: null }, contactKey: null, startAt: 0 });
    fc.assert(
      fc.property(items, (item) => {
        expect(identity.differingFields('', identity.fingerprint(item))).toEqual(['unknown']);
        expect(identity.differingFields(contact, identity.fingerprint(item))).toEqual(['unknown']);
        expect(identity.differingFields(identity.fingerprint(item), contact)).toEqual(['unknown']);
      }),
    );
  });
});

describe('a fingerprint of version 0.1.0', () => {
  const FIRST = 'EAH4XcI5smN1RKeOmGoV-';
  const OTHER_TITLE = '8xNT12dW92f4dY28NGoV-';

  test('is that of the same item, and of no other', () => {
    const busy = { ...ITEM, title: 'Busy' };
    expect(isSameContent(FIRST, identity.fingerprint(ITEM))).toBe(true);
    expect(isSameContent(identity.fingerprint(busy), OTHER_TITLE)).toBe(true);
    expect(isSameContent(FIRST, identity.fingerprint(busy))).toBe(false);
    expect(isSameContent(FIRST, OTHER_TITLE)).toBe(false);
    expect(isSameContent('', identity.fingerprint(ITEM))).toBe(false);
  });

  test('still shows which fields may differ', () => {
    expect(identity.differingFields(FIRST, OTHER_TITLE)).toEqual(['title']);
    expect(identity.differingFields(OTHER_TITLE, identity.fingerprint(ITEM))).toEqual(['title']);
    expect(identity.differingFields(FIRST, identity.fingerprint({ ...ITEM, busy: false }))).toEqual(['busy']);
    expect(identity.differingFields(FIRST, identity.fingerprint(ITEM))).toEqual([]);
  });

  test('is equal or unequal like current fingerprints', () => {
    fc.assert(
      fc.property(items, items, (one, two) => {
        const [now, then] = [identity.fingerprint(one), asOfFirstVersion(identity.fingerprint(two))];
        expect(isSameContent(asOfFirstVersion(now), now)).toBe(true);
        expect(isSameContent(now, then)).toBe(now === identity.fingerprint(two));
        expect(identity.differingFields(then, now).length > 0).toBe(now !== identity.fingerprint(two));
      }),
    );
  });
});

function differing(one: CalendarItem, other: CalendarItem): string[] {
  return identity.differingFields(identity.fingerprint(one), identity.fingerprint(other));
}

/** A field in its compared form: an object as its properties in any order. */
function text(item: CalendarItem, field: string): string {
  const value = item[field as keyof CalendarItem];
  return JSON.stringify(typeof value === 'object' && value !== null ? Object.entries(value).sort() : value);
}

describe('the subject of a fingerprint', () => {
  test('names the patient within one target, and has no effect on comparisons', () => {
    fc.assert(
      fc.property(items, items, recordIds, recordIds, (one, two, patient, other) => {
        fc.pre(patient !== other);
        const [plain, ofPatient] = [identity.fingerprint(one), identity.fingerprint(one, patient)];
        expect([identity.subjectIn(plain), identity.subjectIn(ofPatient)]).toEqual([null, identity.subject(patient)]);
        expect(identity.subject(other)).not.toBe(identity.subject(patient));
        expect(isSameContent(plain, ofPatient)).toBe(true);
        expect(isSameContent(identity.fingerprint(one, other), ofPatient)).toBe(true);
        const changed = identity.fingerprint(two, patient);
        expect(isSameContent(ofPatient, changed)).toBe(isSameContent(plain, identity.fingerprint(two)));
        expect(identity.differingFields(ofPatient, changed)).toEqual(identity.differingFields(plain, changed));
      }),
    );
  });

  test('says nothing to another target', () => {
    for (const another of Object.values(others)) expect(another.subject('p1')).not.toBe(identity.subject('p1'));
  });
});
