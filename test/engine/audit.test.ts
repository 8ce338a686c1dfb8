import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Link, RemoteItem } from '../../src/core/model/operations.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { PendingChange } from '../../src/core/model/plan.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { CALENDAR_FORM, crmForm } from '../../src/domain/item-forms.ts';
import { type AuditInput, asOtherWrite, audit, fieldsByHand } from '../../src/engine/audit.ts';
import { createTargetIdentity } from '../../src/engine/identity.ts';
import { asOfFirstVersion, items, NOW, recordIds } from '../domain/arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const WINDOW = { fromAt: NOW - 7 * DAY_MS, toAt: NOW + 30 * DAY_MS };
const START_AT = Date.parse('2026-06-16T07:00:00Z');
const END_AT = Date.parse('2026-06-16T08:00:00Z');
const ITEM: CalendarItem = {
  title: 'Appointment',
  description: 'Room 2',
  location: 'Via Roma 1',
  time: { kind: 'timed', start: '2026-06-16T09:00:00+02:00', end: '2026-06-16T10:00:00+02:00', zone: 'Europe/Rome' },
  busy: true,
};

function link(recordId: string, changes: Partial<Link> = {}): Link {
  const fingerprint = identity.fingerprint(ITEM);
  return {
    recordId,
    fingerprint,
    versionTag: 'v1',
    startAt: START_AT,
    endAt: END_AT,
    idAttempt: 0,
    remoteId: null,
    drift: null,
    ...changes,
  };
}

function remote(recordId: string, changes: Partial<RemoteItem> & { idAttempt?: number } = {}): RemoteItem {
  const { idAttempt = 0, ...rest } = changes;
  const key = identity.key(recordId, idAttempt);
  return {
    key,
    sealedRecordId: identity.sealedRecordId(recordId),
    remoteId: key,
    versionTag: 'v1',
    item: ITEM,
    ...rest,
  };
}

function edited(recordId: string, changes: Partial<CalendarItem>): RemoteItem {
  return remote(recordId, { versionTag: 'v2', item: { ...ITEM, ...changes } });
}

function pendingFor(recordId: string, want: PendingChange['want']): [string, PendingChange] {
  return [
    recordId,
    {
      recordId,
      reason: 'content-changed',
      want,
      fingerprint: null,
      startAt: START_AT,
      endAt: END_AT,
      attempts: 0,
      lastError: null,
      sent: false,
      parked: false,
      enqueuedAt: NOW,
      dueAt: NOW,
    },
  ];
}

function inputOf(
  items: RemoteItem[],
  links: Link[],
  pending: [string, PendingChange][] = [],
  reading: Partial<AuditInput['reading']> = {},
): AuditInput {
  return {
    reading: { scope: 'whole', items, removed: [], ...reading },
    links: new Map(links.map((each) => [each.recordId, each])),
    pending: new Map(pending),
    identity,
    window: WINDOW,
  };
}

function compare(...given: Parameters<typeof inputOf>) {
  const {
    missing: _,
    drifted: __,
    revision: ___,
    unmarked: ____,
    unreadable: _____,
    ...told
  } = atOnce(audit(inputOf(...given)));
  return told;
}

/** Links of which the reading says that they have no object. */
function missingFrom(input: AuditInput): Link[] {
  return atOnce(audit(input)).missing;
}

/** Compares a change feed with the links. */
function since(items: RemoteItem[], links: Link[], removed: string[] = [], pending: [string, PendingChange][] = []) {
  return compare(items, links, pending, { scope: 'since', removed });
}

function stored(links: Link[], { changed }: { changed: Link[] }): Link[] {
  const now = new Map(changed.map((each) => [each.recordId, each]));
  return links.map((each) => now.get(each.recordId) ?? each);
}

const NOTHING = {
  edited: [],
  removed: [],
  touched: [],
  changed: [],
  unlinked: [],
  surplus: [],
  overwritten: 0,
  ambiguous: 0,
};

describe('an object with a link', () => {
  test('that is unchanged is only counted as checked', () => {
    expect(compare([remote('1'), remote('2')], [link('1'), link('2')])).toEqual({ checked: 2, ...NOTHING });
    expect(missingFrom(inputOf([remote('1'), remote('2')], [link('1'), link('2')]))).toEqual([]);
  });

  test('that the provider spells differently is no edit while its version is the written one, nor if that version changes later', () => {
    const item = { ...ITEM, title: 'appointment ', description: null };
    const learned = { ...link('1'), storedFingerprint: identity.fingerprint(item) };
    expect(compare([remote('1', { item })], [link('1')])).toEqual({ checked: 1, ...NOTHING, changed: [learned] });
    expect(compare([remote('1', { item })], [learned])).toEqual({ checked: 1, ...NOTHING });
    const moved = compare([remote('1', { item, versionTag: 'v2' })], [learned]);
    expect(moved).toEqual({ checked: 1, ...NOTHING, changed: [{ ...learned, versionTag: 'v2' }] });
  });

  test('that the provider spells differently is no edit if a weak tag shows the same version', () => {
    const item = { ...ITEM, title: 'appointment ' };
    const written = link('1', { versionTag: '"1"' });
    expect(compare([remote('1', { item, versionTag: 'W/"1"' })], [written]).edited).toEqual([]);
    expect(compare([remote('1', { item, versionTag: 'W/"2"' })], [written]).edited).toHaveLength(1);
  });

  test('that the provider spells differently and a user edited is reported with the fields that the user changed', () => {
    const item = { ...ITEM, title: 'appointment ' };
    const learned = { ...link('1'), storedFingerprint: identity.fingerprint(item) };
    const found = compare([remote('1', { item: { ...item, busy: false }, versionTag: 'v2' })], [learned]);
    expect(found.edited.flatMap((link) => fieldsByHand(link, identity))).toEqual(['busy']);
  });

  test('that has a new version and the old content is no edit: a reminder, a colour', () => {
    const changed = [link('1', { versionTag: 'v2' })];
    expect(compare([remote('1', { versionTag: 'v2' })], [link('1')])).toEqual({ checked: 1, ...NOTHING, changed });
  });

  test.for<[string, Partial<CalendarItem>]>([
    ['title', { title: 'Lunch' }],
    ['description', { description: 'Bring cake' }],
    ['location', { location: null }],
    ['busy', { busy: false }],
    ['time', { time: { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-17' } }],
  ])('with an edited %s is reported with that field', ([field, change]) => {
    const before = link('1');
    const found = compare([edited('1', change)], [before]);
    const after = {
      ...before,
      versionTag: 'v2',
      drift: 'edited',
      observedFingerprint: identity.fingerprint({ ...ITEM, ...change }),
    };
    expect(found).toEqual({ checked: 1, ...NOTHING, edited: [after], touched: [after], changed: [after] });
    expect(found.edited.flatMap((link) => fieldsByHand(link, identity))).toEqual([field]);
  });

  test('is recognised as untouched by its version tag, and is located, even if its link does not prove its location', () => {
    const { fingerprint } = link('1', { fingerprint: identity.fingerprint({ ...ITEM, title: 'As we sent it' }) });
    const { touched, changed } = compare(
      [remote('1', { idAttempt: 2, remoteId: 'AAMk' })],
      [link('1', { isUnplaced: true, fingerprint })],
    );
    expect(touched).toEqual([]);
    const storedFingerprint = identity.fingerprint(ITEM);
    expect(changed).toEqual([link('1', { fingerprint, storedFingerprint, idAttempt: 2, remoteId: 'AAMk' })]);
  });

  test('is found edited without any version tag, by its content', () => {
    const withoutTag = { ...edited('1', { title: 'Lunch' }), versionTag: null };
    const found = compare(
      [withoutTag, remote('2', { versionTag: null })],
      [link('1', { versionTag: null }), link('2', { versionTag: null })],
    );
    expect(found).toMatchObject({ checked: 2, edited: [{ recordId: '1' }] });
    expect(found.edited.flatMap((link) => fieldsByHand(link, identity))).toEqual(['title']);
  });

  test('edited to an unreadable form is reported with an unknown field', () => {
    const found = compare([remote('1', { versionTag: 'v2', item: null })], [link('1')]);
    expect(found.edited.flatMap((link) => fieldsByHand(link, identity))).toEqual(['unknown']);
    expect(found.edited[0]).not.toHaveProperty('observedFingerprint');
  });

  test('that can’t be read and is of our version is as the target made it, and teaches nothing', () => {
    expect(compare([remote('1', { item: null })], [link('1')])).toEqual({ checked: 1, ...NOTHING });
  });

  test('written by version 0.1.0 is no edit, and is compared more exactly from then on', () => {
    const before = link('1', { fingerprint: asOfFirstVersion(link('1').fingerprint) });
    expect(compare([remote('1')], [before])).toEqual({ checked: 1, ...NOTHING, changed: [link('1')] });
    expect(compare([edited('1', { location: null })], [before])).toMatchObject({ edited: [{ recordId: '1' }] });

    const item = { ...ITEM, title: 'appointment ' };
    const storedFingerprint = identity.fingerprint(item);
    const respelt = { ...before, storedFingerprint: asOfFirstVersion(storedFingerprint) };
    const seen = compare([remote('1', { item, versionTag: 'v2' })], [respelt]);
    expect(seen).toEqual({ checked: 1, ...NOTHING, changed: [{ ...before, storedFingerprint, versionTag: 'v2' }] });
  });

  test('that was dragged out of the window is edited, and its link keeps the start that was written', () => {
    const time = { kind: 'all-day', startDate: '2026-01-01', endDate: '2026-01-02' } as const;
    expect(compare([edited('1', { time })], [link('1')]).edited[0]?.startAt).toBe(START_AT);
  });

  test('that is not there was removed', () => {
    const after = link('2', { versionTag: null, drift: 'removed' });
    const marked = { removed: [after], touched: [after], changed: [after] };
    expect(compare([remote('1')], [link('1'), link('2')])).toEqual({ checked: 2, ...NOTHING, ...marked });
  });

  test.for(['whole', 'since'] as const)('that lost its marks is never removed, but found by its name (%s)', (scope) => {
    const lost = { sealedRecordId: null, marksLost: true } as const;
    const items = [
      remote('1', lost),
      remote('2', { ...lost, idAttempt: 3, versionTag: 'v2', item: { ...ITEM, title: 'Lunch' } }),
      remote('3', { ...lost, key: '', remoteId: 'AAMk3' }),
    ];
    const links = [
      link('1'),
      link('2', { idAttempt: 3 }),
      link('3', { remoteId: 'AAMk3' }),
      link('4', { drift: 'removed' }),
    ];
    items.push(remote('4', lost), remote('of another installation', lost));
    const found = atOnce(audit(inputOf(items, links, [], { scope })));
    expect(found).toMatchObject({ removed: [], edited: [{ recordId: '2' }], ambiguous: 0, unmarked: 4, missing: [] });
    expect(found.changed.map(({ recordId, drift, unmarked }) => [recordId, drift, unmarked])).toEqual([
      ['1', null, true],
      ['2', 'edited', true],
      ['3', null, true],
      ['4', null, true],
    ]);
    // Unchanged content without marks causes no write in later audits, and marks end the note.
    expect(compare(items, stored(links, found), [], { scope }).changed).toEqual([]);
    const again = compare([remote('1')], stored(links, found), [], { scope: 'since' });
    expect(again.changed.map((each) => [each.recordId, each.unmarked])).toEqual([['1', undefined]]);
  });

  test('that lost only its encrypted record id is found by its name', () => {
    const found = compare([remote('1', { sealedRecordId: null })], [link('1')]);
    expect(found).toMatchObject({ removed: [], ambiguous: 0, changed: [{ recordId: '1', unmarked: true }] });
  });

  test('that cannot be read is there, and unchanged', () => {
    const unread = { item: null, sealedRecordId: null, versionTag: null, unreadable: true } as const;
    const items = [remote('1', unread), remote('2', { ...unread, key: 'x.ics', remoteId: 'x.ics' }), remote('3')];
    const links = [link('1'), link('2', { remoteId: 'x.ics' }), link('3'), link('4')];
    const found = atOnce(audit(inputOf(items, links)));
    expect(found).toMatchObject({ edited: [], removed: [{ recordId: '4' }], ambiguous: 0, checked: 2 });
    expect(found.unreadable).toEqual([identity.key('1', 0), 'x.ics']);
  });

  test('left by an earlier version next to a second object is surplus', () => {
    const first = remote('1', { sealedRecordId: null, marksLost: true });
    const found = compare([first, remote('1', { idAttempt: 1 })], [link('1', { idAttempt: 1 })]);
    expect(found).toMatchObject({ ambiguous: 1, surplus: [{ recordId: '1', idAttempt: 0 }], removed: [] });
  });

  test('stays marked until the user changes it again, and is marked only once', () => {
    const stands = edited('1', { title: 'Lunch' });
    const marked = compare([stands], [link('1'), link('2')]);
    const links = stored([link('1'), link('2')], marked);
    const again = { checked: 2, ...NOTHING, edited: marked.edited, removed: marked.removed };
    expect(compare([stands], links)).toEqual(again);
    expect(since([], links)).toEqual(again);
  });

  test('that is as we wrote it again carries no mark any more', () => {
    const marked = compare([edited('1', { title: 'Lunch' })], [link('1'), link('2')]);
    const links = stored([link('1'), link('2')], marked);
    const back = [remote('1', { versionTag: 'v3' }), remote('2', { versionTag: 'v4' })];
    const changed = [link('1', { versionTag: 'v3' }), link('2', { versionTag: 'v4' })];
    for (const read of [compare, since]) expect(read(back, links)).toEqual({ checked: 2, ...NOTHING, changed });
  });

  test.for(['present', 'absent'] as const)(
    'is marked and not counted while a change to it (%s) is on its way',
    (want) => {
      const pending = [pendingFor('1', want), pendingFor('2', want)];
      const found = compare([edited('1', { title: 'Lunch' })], [link('1'), link('2')], pending);
      expect(found).toMatchObject({ checked: 0, ...NOTHING, changed: [{ drift: 'edited' }, { drift: 'removed' }] });
    },
  );

  test('that began before the window is reported if it overlaps the window; in a CRM, which shows only starts, it is not', () => {
    const links = [link('1', { startAt: WINDOW.fromAt - DAY_MS, endAt: WINDOW.fromAt + 1 })];
    expect(missingFrom(inputOf([], links))).toEqual(links);
    const crm = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'crm', crmForm('appointments', ['title']));
    expect(missingFrom({ ...inputOf([], links), identity: crm })).toEqual([]);
    expect(missingFrom({ ...inputOf([], [link('2')]), identity: crm })).toEqual([link('2')]);
  });

  test('outside the window of a complete scan is unchanged', () => {
    const links = [
      link('1', { startAt: WINDOW.fromAt - 1, endAt: WINDOW.fromAt }),
      link('2', { startAt: WINDOW.toAt, endAt: WINDOW.toAt + 1 }),
    ];
    expect(compare([], links)).toEqual({ checked: 0, ...NOTHING });
    expect(missingFrom(inputOf([], [...links, link('3')]))).toEqual([link('3')]);
  });
});

describe('marks', () => {
  test('are returned for links with and without a pending write, and for no others', () => {
    const links = [link('1'), link('2'), link('3')];
    const items = [remote('1'), edited('2', { title: 'Lunch' }), edited('3', { title: 'Lunch' })];
    const { drifted } = atOnce(audit(inputOf(items, links, [pendingFor('3', 'present')])));
    expect(drifted.map(({ recordId }) => recordId)).toEqual(['2', '3']);
  });
});

test('a manual edit is returned as fields, a removal as a removal, and no change as nothing', () => {
  const observedFingerprint = identity.fingerprint({ ...ITEM, title: 'Lunch' });
  expect(fieldsByHand(link('1', { observedFingerprint }), identity)).toEqual([]);
  expect(fieldsByHand(link('1', { drift: 'removed', observedFingerprint }), identity)).toEqual(['removed']);
  expect(fieldsByHand(link('1', { drift: 'edited', observedFingerprint }), identity)).toEqual(['title']);
});

describe('an object that another object replaced', () => {
  const replaced = (before: Partial<Link>, remoteId?: string) =>
    compare([remote('1', remoteId === undefined ? {} : { remoteId })], [link('1', before)]).changed;

  test('is a new generation: its dependent objects must be associated again', () => {
    const after = link('1', { remoteId: 'vendor-2', recreations: 1 });
    expect(replaced({ remoteId: 'vendor-1' }, 'vendor-2')).toEqual([after]);
    expect(replaced({ remoteId: 'vendor-1', recreations: 2 }, 'vendor-2')).toEqual([{ ...after, recreations: 3 }]);
  });

  test('is the same one under the id that was learned, or under its key', () => {
    expect(replaced({ remoteId: null }, 'vendor-2')).toEqual([link('1', { remoteId: 'vendor-2' })]);
    expect(replaced({ remoteId: 'vendor-1' })).toEqual([link('1')]);
    expect(replaced({ remoteId: 'vendor-1' }, 'vendor-1')).toEqual([]);
    expect(replaced({ remoteId: 'vendor-1', versionTag: 'v0' }, 'vendor-1')).toEqual([
      link('1', { remoteId: 'vendor-1' }),
    ]);
  });

  test.for(['first', 'last'])('is distinguished from the linked object by its vendor id, read %s', (position) => {
    const copy = { ...edited('1', { title: 'Copy' }), remoteId: 'vendor-2' };
    const linked = remote('1', { remoteId: 'vendor-1' });
    const read = position === 'first' ? [copy, linked] : [linked, copy];
    const found = compare(read, [link('1', { remoteId: 'vendor-1' })]);
    expect(found).toEqual({ checked: 1, ...NOTHING, ambiguous: 1, surplus: found.surplus });
    expect(found.surplus).toMatchObject([{ remoteId: 'vendor-2' }]);
  });
});

test('for a link outside its window, the object in the complete scan is used', () => {
  const outside = { startAt: WINDOW.toAt, endAt: WINDOW.toAt + 1 };
  const found = compare([remote('1', { idAttempt: 1 })], [link('1', outside)]);
  expect(found).toEqual({ checked: 1, ...NOTHING, changed: [link('1', { ...outside, idAttempt: 1 })] });
});

describe('a feed', () => {
  test('that names an object without a link has it planned like any other', () => {
    expect(since([remote('1')], [link('2')])).toEqual({ checked: 1, ...NOTHING, unlinked: [link('1')] });
  });

  test('that names nothing vouches for everything', () => {
    expect(since([], [link('1'), link('2')])).toEqual({ checked: 2, ...NOTHING });
  });

  test('that names our own write names no edit', () => {
    expect(since([remote('1')], [link('1')])).toEqual({ checked: 1, ...NOTHING });
  });

  test('lists removed remote ids, unknown ones included', () => {
    const links = [link('1'), link('2', { remoteId: 'vendor-2' }), link('3', { idAttempt: 1 }), link('4')];
    const removed = [identity.key('1', 0), 'vendor-2', identity.key('3', 1), 'somebody-elses', identity.key('4', 1)];
    expect(since([], links, removed).removed.map(({ recordId }) => recordId)).toEqual(['1', '2', '3']);
    expect(missingFrom(inputOf([], links, [], { scope: 'since', removed }))).toEqual(links.slice(0, 3));
  });

  test('that lists an object as removed and as present means that the object exists', () => {
    expect(since([remote('1')], [link('1')], [identity.key('1', 0)])).toEqual({ checked: 1, ...NOTHING });
  });

  test('that lists another object for a record does not affect the linked object, unless the linked one is removed', () => {
    const beside = remote('1', { idAttempt: 1, versionTag: 'v9' });
    expect(since([beside], [link('1')])).toEqual({ checked: 1, ...NOTHING, ambiguous: 1 });
    const instead = [link('1', { idAttempt: 1, versionTag: 'v9' })];
    expect(since([beside], [link('1')], [identity.key('1', 0)])).toMatchObject({ changed: instead, ambiguous: 0 });
    expect(since([beside], [link('1', { drift: 'removed' })])).toMatchObject({ changed: instead, ambiguous: 0 });
  });
});

describe('an object without a link', () => {
  test('is to be planned like any other', () => {
    expect(compare([remote('1')], [])).toEqual({ checked: 0, ...NOTHING, unlinked: [link('1')] });
  });

  test('before the window was released, and stays released', () => {
    const time = { kind: 'all-day', startDate: '2026-01-01', endDate: '2026-01-02' } as const;
    expect(compare([edited('1', { time })], [])).toEqual({ checked: 0, ...NOTHING });
  });

  test('of which there are two is linked to the one that was read first, and counted', () => {
    const both = [remote('1'), remote('1', { idAttempt: 1 })];
    const surplus = [link('1', { idAttempt: 1 })];
    expect(compare(both, [])).toEqual({ checked: 0, ...NOTHING, unlinked: [link('1')], ambiguous: 1, surplus });
  });

  test('that began before the window and reaches into it is to be planned too', () => {
    const time = { kind: 'all-day', startDate: '2026-06-01', endDate: '2026-06-10' } as const;
    expect(compare([edited('1', { time })], []).unlinked).toMatchObject([{ recordId: '1' }]);
  });

  test('is not linked while its creation is on its way', () => {
    expect(compare([remote('1')], [], [pendingFor('1', 'present')])).toEqual({ checked: 0, ...NOTHING });
  });
});

describe('an object without a certain record', () => {
  test('is counted and never taken for drift', () => {
    const others = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'another', CALENDAR_FORM);
    const copied = remote('1', { key: 'someotherkey', remoteId: 'someotherkey', item: { ...ITEM, title: 'Copy' } });
    const foreign = remote('2', { sealedRecordId: others.sealedRecordId('2') });
    const found = compare([copied, foreign, remote('1')], [link('1')]);
    expect(found).toEqual({ checked: 1, ...NOTHING, ambiguous: 2, surplus: found.surplus });
    expect(found.surplus).toMatchObject([{ recordId: '1', remoteId: 'someotherkey' }]);
    // Without the linked object in the same read, the copy may be the only object left.
    expect(compare([copied], [link('1')]).surplus).toEqual([]);
    expect(compare([copied, remote('1')], []).surplus).toEqual([]);
    expect(since([copied, remote('1')], [link('1')]).surplus).toMatchObject([{ remoteId: 'someotherkey' }]);
  });

  test.for(['first', 'last'])('of a record that also has a linked object is not changed, read %s', (position) => {
    const old = { ...edited('1', { title: 'From the trash' }), ...{ key: identity.key('1', 0) } };
    const linked = remote('1', { idAttempt: 1 });
    const read = position === 'first' ? [old, linked] : [linked, old];
    const found = compare(read, [link('1', { idAttempt: 1 })]);
    expect(found).toEqual({ checked: 1, ...NOTHING, ambiguous: 1, surplus: found.surplus });
    expect(found.surplus).toMatchObject([{ recordId: '1', idAttempt: 0, versionTag: old.versionTag }]);
  });

  test('of two without a link the last written is linked, and a feed reports no surplus', () => {
    const [early, late] = [remote('1', { idAttempt: 1, revision: 3 }), remote('1', { revision: 5 })];
    for (const read of [
      [early, late],
      [late, early],
    ]) {
      const found = compare(read, [link('1', { idAttempt: 2 })]);
      expect(found.surplus).toMatchObject([{ idAttempt: 1, revision: 3 }]);
      expect(found.changed).toMatchObject([{ idAttempt: 0, revision: 5 }]);
    }
    const named = since([early], [link('1')]);
    expect(named).toMatchObject({ surplus: [], ambiguous: 1 });
  });
});

describe('an object that carries another revision than its link', () => {
  const ofWrite = (revision: number, changes: Partial<CalendarItem> = {}) => ({
    ...edited('1', changes),
    revision,
  });

  test.for([
    ['older: a write of clinic-mirror that arrived late', 3, 5],
    ['newer: the state was lost since', 8, 8],
  ] as const)('%s, is what the target was given last, and no edit', ([, revision, highest]) => {
    const lateWrite = ofWrite(revision, { title: 'Late' });
    const found = compare([lateWrite], [link('1', { revision: 5, storedFingerprint: 'storedFingerprint' })]);
    expect(found).toMatchObject({ checked: 1, edited: [], touched: [], overwritten: 1 });
    const fingerprint = identity.fingerprint(lateWrite.item!);
    const { versionTag } = lateWrite;
    expect(found.changed).toEqual([link('1', { fingerprint, versionTag, revision: highest })]);
  });

  test('and cannot be read is planned again too', () => {
    const unreadable = { ...remote('1', { versionTag: 'v2', item: null }), revision: 3 };
    const found = compare([unreadable], [link('1', { revision: 5 })]);
    expect(found).toMatchObject({ overwritten: 1, edited: [], changed: [{ fingerprint: '', drift: null }] });
  });

  test.for([
    ['the revision of its link', 5, 5],
    ['none', undefined, 5],
    ['one, where its link knows none', 5, undefined],
  ] as const)('but with %s it was edited by hand', ([, stamped, known]) => {
    const stands = { ...edited('1', { title: 'Lunch' }), ...(stamped === undefined ? {} : { revision: stamped }) };
    const before = link('1', known === undefined ? {} : { revision: known });
    expect(compare([stands], [before])).toMatchObject({ edited: [{ drift: 'edited' }], overwritten: 0 });
  });

  test('and unchanged content is unchanged', () => {
    const found = compare([{ ...remote('1'), revision: 3 }], [link('1', { revision: 5 })]);
    expect(found).toEqual({ checked: 1, ...NOTHING });
  });

  test('adopts the content of another write only if it is the linked object', () => {
    const [before, late] = [
      link('1', { revision: 5 }),
      link('1', { revision: 3, fingerprint: 'late', versionTag: 'v2' }),
    ];
    expect(asOtherWrite(before, late)).toEqual({ ...late, revision: 5 });
    expect(asOtherWrite(before, { ...late, idAttempt: 1 })).toBeNull();
    expect(asOtherWrite(before, { ...late, remoteId: 'other' })).toBeNull();
    expect(asOtherWrite(before, { ...late, fingerprint: before.fingerprint })).toBeNull();
    expect(asOtherWrite(before, { ...late, revision: 5 })).toBeNull();
  });

  test('the highest revision is returned, from any object', () => {
    const items = [ofWrite(3), { ...remote('2', { sealedRecordId: null }), revision: 9 }];
    expect(atOnce(audit(inputOf(items, [link('1')]))).revision).toBe(9);
  });
});

describe('for any target', () => {
  const fates = fc.constantFrom('untouched', 'respelt', 'edited', 'removed', 'pending', 'unlinked');
  const records = fc.uniqueArray(fc.record({ id: recordIds, item: items, other: items, fate: fates }), {
    selector: ({ id }) => id,
    maxLength: 25,
  });

  test('every record is reported once, with its state', () => {
    fc.assert(
      fc.property(records, (given) => {
        const differs = (one: CalendarItem, other: CalendarItem) =>
          identity.fingerprint(one) !== identity.fingerprint(other);
        const links: Link[] = [];
        const remoteItems: RemoteItem[] = [];
        const pending: [string, PendingChange][] = [];
        for (const { id, item, other, fate } of given) {
          const written = { fingerprint: identity.fingerprint(item), ...identity.spanOf(item) };
          if (fate !== 'unlinked') links.push(link(id, written));
          if (fate === 'pending') pending.push(pendingFor(id, 'present'));
          if (fate === 'untouched' || fate === 'unlinked') remoteItems.push(remote(id, { item }));
          if (fate === 'respelt') remoteItems.push(remote(id, { item: other }));
          if (fate === 'edited') remoteItems.push(remote(id, { item: other, versionTag: 'v2' }));
        }
        const idsOf = (chosen: typeof given) => chosen.map(({ id }) => id).sort();
        const having = (...wanted: string[]) => given.filter(({ fate }) => wanted.includes(fate));

        const found = compare(remoteItems.reverse(), links, pending);

        const isAfterBegin = ({ item }: { item: CalendarItem }) => identity.spanOf(item).endAt > WINDOW.fromAt;
        const isInWindow = (one: { item: CalendarItem }) =>
          isAfterBegin(one) && identity.spanOf(one.item).startAt < WINDOW.toAt;
        const removed = having('removed').filter(isInWindow);
        expect(found.checked).toBe(having('untouched', 'respelt', 'edited').length + removed.length);
        expect(found.removed.map(({ recordId }) => recordId).sort()).toEqual(idsOf(removed));
        expect(found.edited.map(({ recordId }) => recordId).sort()).toEqual(
          idsOf(having('edited').filter(({ item, other }) => differs(item, other))),
        );
        expect(found.unlinked.map(({ recordId }) => recordId).sort()).toEqual(
          idsOf(having('unlinked').filter(isAfterBegin)),
        );
        expect(found.ambiguous).toBe(0);
      }),
    );
  });

  test('an object written with the content found is unchanged in the next audit', () => {
    fc.assert(
      fc.property(records, (given) => {
        const remoteItems = given.map(({ id, other }) => remote(id, { item: other, versionTag: 'v2' }));
        const links = given.map(({ id, item }) => link(id, { fingerprint: identity.fingerprint(item) }));
        const written = stored(links, compare(remoteItems, links)).map(({ observedFingerprint, ...each }): Link => {
          return { ...each, fingerprint: observedFingerprint ?? each.fingerprint, drift: null };
        });
        expect(compare(remoteItems, written)).toEqual({ checked: given.length, ...NOTHING });
      }),
    );
  });
});
