import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CalendarItem } from '../../src/model/items.ts';
import { createTargetIdentity } from '../../src/sync/identity.ts';
import { items, recordIds } from './arbitraries.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);
const identity = createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'doctor');
const others = {
  'another tenant': createTargetIdentity(IDENTITY_KEY, 'studio-bianchi', 'doctor'),
  'another target': createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'nurse'),
  'another installation': createTargetIdentity(Buffer.alloc(32, 8), 'studio-rossi', 'doctor'),
};

describe('a key', () => {
  test('is legal everywhere, the same each time and another one in each epoch', () => {
    fc.assert(
      fc.property(recordIds, fc.nat(8), (recordId, epoch) => {
        const key = identity.key(recordId, epoch);
        expect(key).toMatch(/^[0-9a-v]{32}$/);
        expect(identity.key(recordId, epoch)).toBe(key);
        expect(identity.key(recordId, epoch + 1)).not.toBe(key);
        expect(identity.epochOf(recordId, key)).toBe(epoch);
      }),
    );
  });

  test('tells records, targets, tenants and installations apart', () => {
    fc.assert(
      fc.property(recordIds, recordIds, (one, two) => {
        fc.pre(one !== two);
        expect(identity.key(one, 0)).not.toBe(identity.key(two, 0));
        expect(identity.epochOf(two, identity.key(one, 0))).toBeNull();
        for (const other of Object.values(others)) expect(other.key(one, 0)).not.toBe(identity.key(one, 0));
      }),
    );
  });

  test('does not change from one release to the next: names in calendars must be found again', () => {
    expect(identity.key('4711', 0)).toBe('0aqf731vmnjt0kdcfmsb31midnuvdon3');
    expect(identity.mark).toBe('tpemt5h6cigpps6l');
    expect(identity.locator('4711')).toBe('wtCoobtX-Pe9TkX8svfghZqwJhgXaHpx1jPOTHxKXSY');
  });

  test('and the mark tell apart what a separator in a name would confuse', () => {
    const one = createTargetIdentity(IDENTITY_KEY, 'a', 'b-c');
    const two = createTargetIdentity(IDENTITY_KEY, 'a-b', 'c');
    expect(one.mark).not.toBe(two.mark);
    expect(one.key('1', 0)).not.toBe(two.key('1', 0));
  });
});

test('a mark has sixteen characters, one for each target', () => {
  const marks = [identity, ...Object.values(others)].map(({ mark }) => mark);
  for (const mark of marks) expect(mark).toMatch(/^[0-9a-v]{16}$/);
  expect(new Set(marks).size).toBe(marks.length);
});

describe('a locator', () => {
  test('gives back its record id, and looks the same each time', () => {
    fc.assert(
      fc.property(recordIds, (recordId) => {
        const locator = identity.locator(recordId);
        expect(identity.recordIdOf(locator)).toBe(recordId);
        expect(identity.locator(recordId)).toBe(locator);
        expect(locator).toMatch(/^[A-Za-z0-9_-]+$/);
      }),
    );
  });

  test('shows nothing of the record id', () => {
    expect(Buffer.from(identity.locator('patient-4711'), 'base64url').toString('latin1')).not.toContain('4711');
  });

  test.each(Object.entries(others))('of %s is refused', (_, other) => {
    fc.assert(fc.property(recordIds, (recordId) => identity.recordIdOf(other.locator(recordId)) === null));
  });

  test('that was changed in one place is refused', () => {
    fc.assert(
      fc.property(recordIds, fc.nat(), fc.integer({ min: 1, max: 255 }), (recordId, place, difference) => {
        const bytes = Buffer.from(identity.locator(recordId), 'base64url');
        const index = place % bytes.length;
        bytes[index] = (bytes[index] ?? 0) ^ difference;
        expect(identity.recordIdOf(bytes.toString('base64url'))).toBeNull();
      }),
    );
  });

  test('that a person typed is refused, whatever it is', () => {
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

  test('tells nothing without the key: other tenants and targets hash the same item otherwise', () => {
    fc.assert(
      fc.property(items, (item) => {
        for (const other of Object.values(others)) expect(other.fingerprint(item)).not.toBe(identity.fingerprint(item));
      }),
    );
  });

  test('is 21 characters of base64url, so that it fits a link', () => {
    fc.assert(fc.property(items, (item) => /^[\w-]{21}$/.test(identity.fingerprint(item))));
  });

  test('hints at the one field that changed, and at no other', () => {
    const item: CalendarItem = {
      title: 'Appointment',
      description: 'Room 1',
      location: 'Via Roma',
      time: { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' },
      busy: true,
    };
    const changes: Partial<CalendarItem>[] = [
      { title: 'Busy' },
      { description: null },
      { location: 'Via Milano' },
      { time: { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-17' } },
      { busy: false },
    ];
    for (const change of changes) {
      const hinted = identity.differingFields(identity.fingerprint(item), identity.fingerprint({ ...item, ...change }));
      expect(hinted).toEqual(Object.keys(change));
    }
  });

  test('hints at no field that stayed', () => {
    fc.assert(
      fc.property(items, items, (one, two) => {
        const hinted = identity.differingFields(identity.fingerprint(one), identity.fingerprint(two));
        for (const field of hinted as (keyof CalendarItem)[]) {
          expect(JSON.stringify(one[field])).not.toBe(JSON.stringify(two[field]));
        }
      }),
    );
  });

  test('that is not known differs in every field', () => {
    fc.assert(fc.property(items, (item) => identity.differingFields('', identity.fingerprint(item)).length === 5));
  });
});
