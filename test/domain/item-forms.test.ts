import { describe, expect, test } from 'vitest';
import type { CalendarItem, CrmItem } from '../../src/core/model/items.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { CALENDAR_FORM, crmForm } from '../../src/domain/item-forms.ts';
import { createTargetIdentity, isSameContent } from '../../src/engine/identity.ts';
import { NOW } from './arbitraries.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);
const identity = createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'doctor', CALENDAR_FORM);

const ITEM: CalendarItem = {
  title: 'Appointment',
  description: 'Room 1',
  location: 'Via Roma',
  time: { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' },
  busy: true,
};

describe('the fingerprint of an event', () => {
  const PRESETS = { colour: 'red', reminderMinutes: 15 } as const;

  test('that has nothing more than items had before is the same: an update of the program rewrites no calendar', () => {
    expect(identity.fingerprint(ITEM)).toBe('EAH4Xc.m3qGLboO3Vac-el');
  });

  test('lists by name the fields that are additional or different', () => {
    const differing = (one: Partial<CalendarItem>, other: Partial<CalendarItem>) =>
      identity.differingFields(identity.fingerprint({ ...ITEM, ...one }), identity.fingerprint({ ...ITEM, ...other }));
    expect(differing({}, { presets: PRESETS })).toEqual(['presets']);
    expect(differing({ presets: PRESETS }, {})).toEqual(['presets']);
    expect(differing({ presets: PRESETS }, { presets: { ...PRESETS, colour: 'green' } })).toEqual(['presets']);
    expect(differing({}, { tentative: true })).toEqual(['tentative']);
    expect(differing({ tentative: true }, { title: 'Other', visibility: 'default' })).toEqual([
      'title',
      'tentative',
      'visibility',
    ]);
    expect(differing({ presets: PRESETS }, { presets: { reminderMinutes: 15, colour: 'red' } })).toEqual([]);
  });
});

describe('the fingerprint of a CRM object', () => {
  const OBJECT: CrmItem = { properties: { email: 'a@b.it', phone: null }, contactKey: 'c', startAt: 0 };
  const fingerprintOf = (item: CrmItem, properties = ['email', 'phone']) =>
    createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'crm', crmForm('patients', properties)).fingerprint(item);

  test('of version 0.1.0 is understood', () => {
    const crm = createTargetIdentity(IDENTITY_KEY, 'studio-rossi', 'crm', crmForm('patients', ['email', 'phone']));
    const item = { properties: { email: 'a@b.it', phone: null }, contactKey: null, startAt: 0 };
    const other = { ...item, properties: { email: 'a@b.it', phone: '1' } };
    expect(isSameContent('CG6ncDqAAzFgGhTvgqXU', crm.fingerprint(item))).toBe(true);
    expect(crm.differingFields('CG6ncDqAAzFgGhTvgqXU', crm.fingerprint(other))).toEqual(['phone']);
  });

  test('depends on the mapped properties, in any order, and on a contact that was created again', () => {
    expect(fingerprintOf(OBJECT, ['phone', 'email'])).toBe(fingerprintOf(OBJECT));
    expect(isSameContent(fingerprintOf(OBJECT), fingerprintOf(OBJECT, ['email', 'fax']))).toBe(false);
    expect(isSameContent(fingerprintOf(OBJECT), fingerprintOf({ ...OBJECT, contactRecreations: 1 }))).toBe(false);
  });
});

describe('in a window', () => {
  const WINDOW = { fromAt: NOW, toAt: NOW + 24 * HOUR_MS };
  const TIMES = [-2, -1, 0, 23, 24].map((hours) => ({
    startAt: NOW + hours * HOUR_MS,
    endAt: NOW + (hours + 1.5) * HOUR_MS,
  }));

  test('a calendar shows each event that overlaps it; a CRM knows only starts', () => {
    const object: CrmItem = { properties: {}, contactKey: null, startAt: NOW };
    const form = crmForm('appointments', []);
    expect(form.spanOf(object)).toEqual({ startAt: NOW, endAt: NOW });
    expect(TIMES.map((time) => CALENDAR_FORM.isShown(time, WINDOW))).toEqual([false, true, true, true, false]);
    expect(TIMES.map((time) => form.isShown(time, WINDOW))).toEqual([false, false, true, true, false]);
  });

  test('an event of whole days lasts from midnight to midnight in UTC', () => {
    const [startAt, endAt] = [Date.UTC(2026, 5, 15), Date.UTC(2026, 5, 16)];
    expect(CALENDAR_FORM.spanOf(ITEM)).toEqual({ startAt, endAt });
  });
});
