import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Link, RemoteItem } from '../../src/core/model/operations.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { type ProjectionPolicy, project } from '../../src/domain/project.ts';
import { compareWeek, type WeekInput } from '../../src/domain/week.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { appointmentOf, EMPTY_DIRECTORY, NOTHING_MORE, NOW, STATUSES } from './arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const POLICY: ProjectionPolicy = {
  ...NOTHING_MORE,
  ...({ title: 'appointment', fields: [], presets: [], free: [], language: 'en', zone: 'Europe/Rome' } as const),
  statuses: STATUSES.filter((status) => status !== 'cancelled'),
};

function itemOf(appointment: Appointment): CalendarItem {
  const item = project(appointment, POLICY, EMPTY_DIRECTORY, () => '');
  if (item === null) throw new Error('it is left out');
  return item;
}

function remoteOf(record: string, item: CalendarItem | null, version = '1'): RemoteItem<CalendarItem> {
  const key = identity.key(record, 0);
  return {
    key,
    remoteId: key,
    sealedRecordId: identity.sealedRecordId(record),
    versionTag: version,
    item,
    revision: 1,
  };
}

/** What the target was last given. */
function linkOf(record: string, item: CalendarItem): Link {
  const fingerprint = identity.fingerprint(item);
  const { startAt, endAt } = identity.spanOf(item);
  const written = { versionTag: '1', idAttempt: 0, remoteId: null, drift: null, revision: 1 };
  return { recordId: record, fingerprint, startAt, endAt, ...written };
}

/** Compares one appointment. @param given what the calendar was last given, null for nothing; @param there what it holds */
function compare(
  appointment: Appointment | null,
  given: CalendarItem | null,
  there: RemoteItem<CalendarItem>[],
  more: Partial<WeekInput> = {},
) {
  return compareWeek({
    appointments: appointment === null ? [] : [appointment],
    ...{ vanished: new Set(), unusable: new Set() },
    decide: (one) => (POLICY.statuses.includes(one.status) ? { item: itemOf(one) } : { exclude: 'status' }),
    remote: there,
    links: new Map(given === null ? [] : [['1', linkOf('1', given)]]),
    window: { fromAt: NOW - 7 * DAY_MS, toAt: NOW + 60 * DAY_MS },
    ...{ identity, ...more },
  });
}

const booked = appointmentOf('1');
const moved = appointmentOf('1', { inHours: 26 });
const item = itemOf(booked);

describe('an appointment in a week', () => {
  test.each([
    ['unchanged in the calendar is no difference', booked, item, [remoteOf('1', item)], null],
    ['that was never written is missing', booked, null, [], { kind: 'missing' }],
    ['with an event removed by a user is removed', booked, item, [], { kind: 'removed' }],
    [
      'with an unchanged event that lost its marks is no difference',
      booked,
      item,
      [{ ...remoteOf('1', item), sealedRecordId: null, marksLost: true as const }],
      null,
    ],
    ['that the clinic moved since is behind', moved, item, [remoteOf('1', item)], { kind: 'behind', fields: ['time'] }],
    [
      'with an event moved by a user is edited',
      booked,
      item,
      [remoteOf('1', itemOf(moved), '2')],
      { kind: 'edited', fields: ['time'] },
    ],
    [
      'with an unreadable event is edited',
      booked,
      item,
      [remoteOf('1', null, '2')],
      { kind: 'edited', fields: ['unknown'] },
    ],
    [
      'also moved by the clinic is behind, after any user edit',
      moved,
      item,
      [remoteOf('1', { ...item, title: 'x' }, '2')],
      { kind: 'behind', fields: ['time'] },
    ],
    [
      'that is cancelled and still in the calendar is surplus',
      appointmentOf('1', { status: 'cancelled' }),
      item,
      [remoteOf('1', item)],
      { kind: 'surplus', why: 'status' },
    ],
  ] as const)('%s', (_, appointment, given, there, difference) => {
    const [entry] = compare(appointment, given, [...there]);
    expect(entry?.difference).toEqual(difference);
  });

  test('that the vendor stores in its own spelling is no difference', () => {
    const stored = { ...item, title: 'appointment' };
    const link = { ...linkOf('1', item), storedFingerprint: identity.fingerprint(stored) };
    const [entry] = compare(booked, item, [remoteOf('1', stored, '2')], { links: new Map([['1', link]]) });
    expect(entry?.difference).toBeNull();
  });

  test.each([
    ['after the window is not missing', 24 * 61, 'beyond-window'],
    ['before the window is unchanged', -24 * 9, 'before-window'],
  ] as const)('%s', (_, inHours, omitted) => {
    const [entry] = compare(appointmentOf('1', { inHours }), null, []);
    expect(entry).toMatchObject({ omitted, difference: null });
  });
});

describe('an event in a week', () => {
  test('without an appointment is surplus; one missing from every list is unlisted; one with an unusable row is unknown', () => {
    const there = [remoteOf('1', item)];
    expect(compare(null, item, there, { vanished: new Set(['1']) })[0]?.difference).toEqual({
      kind: 'surplus',
      why: 'vanished',
    });
    expect(compare(null, item, there)[0]?.difference).toEqual({ kind: 'unlisted' });
    expect(compare(null, item, there, { unusable: new Set(['1']) })[0]?.difference).toEqual({ kind: 'unknown' });
  });

  test('that duplicates a record, or names none, is a copy', () => {
    const copy = { ...remoteOf('1', item), remoteId: 'copied' };
    const nameless = { ...remoteOf('1', item), sealedRecordId: null, remoteId: 'nameless' };
    const entries = compare(booked, item, [copy, remoteOf('1', item), nameless]);
    expect(entries.map(({ record, difference }) => [record, difference?.kind ?? null])).toEqual([
      ['1', null],
      ['1', 'copy'],
      [null, 'copy'],
    ]);
  });
});

test('what was carried out as planned never differs, whatever the appointments', () => {
  const appointments = fc.uniqueArray(
    fc.record({ id: fc.nat(500).map(String), inHours: fc.integer({ min: -100, max: 1_000 }) }),
    { selector: ({ id }) => id, maxLength: 12 },
  );
  fc.assert(
    fc.property(appointments, (choices) => {
      const all = choices.map(({ id, inHours }) => appointmentOf(id, { inHours }));
      const remote = all.map((one) => remoteOf(one.id, itemOf(one)));
      const links = new Map(all.map((one) => [one.id, linkOf(one.id, itemOf(one))]));
      const entries = compare(null, null, remote, { appointments: all, links });
      expect(entries.filter(({ difference }) => difference !== null)).toEqual([]);
      expect(entries).toHaveLength(all.length);
    }),
  );
});
