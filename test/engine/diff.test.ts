import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { PendingChange, PlannedChange } from '../../src/core/model/plan.ts';
import type { Appointment } from '../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, type TimeSpan } from '../../src/core/model/time.ts';
import { CALENDAR_FORM } from '../../src/domain/item-forms.ts';
import { describeAppointment } from '../../src/domain/mapping-sources.ts';
import { type ProjectionPolicy, project } from '../../src/domain/project.ts';
import {
  absentCandidates,
  type DiffInput,
  diff,
  heldIn,
  isHeldIn,
  outlying,
  type PushedState,
  restoring,
} from '../../src/engine/diff.ts';
import { createTargetIdentity, FingerprintMemory } from '../../src/engine/identity.ts';
import {
  appointmentOf,
  asOfFirstVersion,
  EMPTY_DIRECTORY,
  NOTHING_MORE,
  NOW,
  STATUSES,
} from '../domain/arbitraries.ts';

const identity = createTargetIdentity(Buffer.alloc(32, 7), 'studio-rossi', 'doctor', CALENDAR_FORM);
const WINDOW = { fromAt: NOW - 7 * DAY_MS, toAt: NOW + 30 * DAY_MS };
const POLICY: ProjectionPolicy = {
  ...NOTHING_MORE,
  presets: [],
  title: 'code',
  fields: ['status'],
  statuses: STATUSES.filter((status) => status !== 'cancelled'),
  free: [],
  language: 'en',
  zone: 'Europe/Rome',
};

function compare(
  appointments: Appointment[],
  state: Partial<PushedState> = {},
  changes: Partial<DiffInput<Appointment>> = {},
) {
  const work = diff({
    records: appointments,
    describe: describeAppointment,
    tombstones: [],
    vanished: new Set(),
    window: WINDOW,
    rule(appointment, key) {
      if (appointment.agendaId !== 'a1') return { exclude: 'agenda' };
      const item = project(appointment, POLICY, EMPTY_DIRECTORY, key);
      return item === null ? { exclude: 'status' } : { item };
    },
    restores: () => true,
    identity,
    state: { links: new Map(), pending: new Map(), ...state },
    ...changes,
  });
  return atOnce(work);
}

/** What a target holds after a plan was carried out: its links. */
function carriedOut(before: ReadonlyMap<string, Link>, changes: readonly PlannedChange[], released: string[] = []) {
  const links = new Map(before);
  for (const { recordId, wanted } of changes) {
    if (wanted.want === 'absent') links.delete(recordId);
    else links.set(recordId, linkOf(recordId, wanted.fingerprint, wanted));
  }
  for (const recordId of released) links.delete(recordId);
  return links;
}

function linkOf(recordId: string, fingerprint: string, { startAt, endAt }: TimeSpan): Link {
  return { recordId, fingerprint, startAt, endAt, versionTag: 'v', idAttempt: 0, remoteId: null, drift: null };
}

function written(...appointments: Appointment[]): Map<string, Link> {
  return carriedOut(new Map(), compare(appointments).changes);
}

/** The changes as they wait in the outbox. */
function waiting(changes: readonly PlannedChange[]): Map<string, PendingChange> {
  return new Map(
    changes.map(({ recordId, reason, wanted }) => [
      recordId,
      {
        recordId,
        reason,
        want: wanted.want,
        fingerprint: wanted.want === 'present' ? wanted.fingerprint : null,
        startAt: wanted.startAt,
        endAt: wanted.endAt,
        attempts: 0,
        lastError: null,
        sent: false,
        parked: false,
        enqueuedAt: NOW,
        dueAt: NOW,
      },
    ]),
  );
}

const reasons = (changes: readonly PlannedChange[]) => changes.map(({ recordId, reason }) => `${recordId} ${reason}`);

describe('an appointment', () => {
  test('that the target does not have is new', () => {
    expect(compare([appointmentOf('1')]).changes).toMatchObject([{ recordId: '1', reason: 'new', fields: [] }]);
  });

  test('that is unchanged causes no change', () => {
    const result = compare([appointmentOf('1')], { links: written(appointmentOf('1')) });
    expect(result).toEqual({ changes: [], released: [], timed: [], unchanged: 1, unsettled: 0 });
  });

  test('whose change waits is unchanged, and not settled', () => {
    const pending = waiting(compare([appointmentOf('1')]).changes);
    const result = compare([appointmentOf('1')], { pending });
    expect(result).toEqual({ changes: [], released: [], timed: [], unchanged: 1, unsettled: 1 });
  });

  test('that was moved is changed, in its time only', () => {
    const { changes } = compare([appointmentOf('1', { inHours: 25 })], { links: written(appointmentOf('1')) });
    expect(changes).toMatchObject([
      { recordId: '1', reason: 'content-changed', fields: ['time'], wanted: { startAt: NOW + 25 * HOUR_MS } },
    ]);
  });

  test.each([
    ['cancelled', { status: 'cancelled' }, 'cancelled'],
    ['given to another agenda', { agendaId: 'a2' }, 'excluded'],
    ['cancelled in another agenda', { agendaId: 'a2', status: 'cancelled' }, 'cancelled'],
  ] as const)('that was %s is removed', (_, change, reason) => {
    const links = written(appointmentOf('1'));
    const { changes } = compare([appointmentOf('1', change)], { links });
    expect(changes).toEqual([
      {
        recordId: '1',
        reason,
        wanted: { want: 'absent', startAt: NOW + 24 * HOUR_MS, endAt: NOW + 25 * HOUR_MS },
        fields: [],
      },
    ]);
  });

  test('of a patient who is to be forgotten is removed for that reason', () => {
    const rule = () => ({ exclude: 'forgotten' });
    for (const status of ['booked', 'cancelled'] as const) {
      const { changes } = compare([appointmentOf('1', { status })], { links: written(appointmentOf('1')) }, { rule });
      expect(changes).toMatchObject([{ reason: 'forgotten', wanted: { want: 'absent' } }]);
    }
  });

  test('that was never written and is cancelled is not spoken of', () => {
    expect(compare([appointmentOf('1', { status: 'cancelled' })])).toEqual({
      changes: [],
      released: [],
      timed: [],
      unchanged: 0,
      unsettled: 0,
    });
  });

  test('that is confirmed gone is removed, once', () => {
    const links = written(appointmentOf('1'));
    const vanished = new Set(['1', 'never-written']);
    const { changes } = compare([], { links }, { vanished });
    expect(reasons(changes)).toEqual(['1 vanished']);
    expect(compare([], { links, pending: waiting(changes) }, { vanished }).changes).toEqual([]);
  });

  test('that the source reports as cancelled only is removed for that reason, and a record that it shows too is compared', () => {
    const links = written(appointmentOf('1'), appointmentOf('2'));
    const { changes } = compare([appointmentOf('2')], { links }, { tombstones: ['1', '2', 'never-written'] });
    expect(reasons(changes)).toEqual(['1 cancelled']);
  });

  test('that comes back while its removal waits is new again', () => {
    const links = written(appointmentOf('1'));
    const pending = waiting(compare([], { links }, { vanished: new Set(['1']) }).changes);
    expect(reasons(compare([appointmentOf('1')], { links, pending }).changes)).toEqual(['1 new']);
  });

  test('is compared with its pending change, not with the content of the target', () => {
    const links = written(appointmentOf('1'));
    const moved = appointmentOf('1', { inHours: 30 });
    const pending = waiting(compare([moved], { links }).changes);
    expect(compare([moved], { links, pending }).changes).toEqual([]);
    expect(reasons(compare([appointmentOf('1')], { links, pending }).changes)).toEqual(['1 content-changed']);
  });

  test('with content that a user edited in the target is written again', () => {
    const links = new Map([['1', linkOf('1', '', appointmentOf('1').time)]]);
    expect(compare([appointmentOf('1')], { links }).changes).toMatchObject([{ reason: 'content-changed' }]);
  });

  test('derives its code from the key of its epoch', () => {
    const first = compare([appointmentOf('1')]).changes;
    const links = carriedOut(new Map(), first);
    const link = links.get('1');
    if (link === undefined) throw new Error('expected a link');
    links.set('1', { ...link, idAttempt: 1 });
    const { changes } = compare([appointmentOf('1')], { links });
    expect(changes).toMatchObject([{ reason: 'content-changed', fields: ['title'] }]);
  });
});

describe('an appointment that replaces a removed one', () => {
  const replacement = appointmentOf('2');
  const replacing = (links: PushedState['links'], changes: Partial<DiffInput<Appointment>> = {}) =>
    compare([replacement], { links }, { predecessors: new Map([['2', '1']]), ...changes }).changes;

  test('is new, and takes over the object of the removed one', () => {
    expect(replacing(written(appointmentOf('1')))).toMatchObject([{ recordId: '2', reason: 'new', replaces: '1' }]);
  });

  test.each(['cached', 'unknown'] as const)('is rewritten without a difference, its fingerprint is %s', (known) => {
    const fingerprints = new FingerprintMemory().under<Appointment>('context', () => true);
    if (known === 'cached') compare([replacement], {}, { fingerprints });
    expect(replacing(written(replacement), { fingerprints })).toMatchObject([
      { recordId: '2', reason: 'rescheduled', fields: [], replaces: '1', wanted: { want: 'present' } },
    ]);
  });

  test('is one with a predecessor: another change names none', () => {
    const [change] = compare([appointmentOf('3')], {}, { predecessors: new Map([['2', '1']]) }).changes;
    expect(change).not.toHaveProperty('replaces');
  });
});

describe('the window', () => {
  const before = appointmentOf('1', { inHours: -8 * 24 });
  const beyond = appointmentOf('1', { inHours: 31 * 24 });

  test('excludes appointments before and after it', () => {
    expect(compare([before, beyond]).changes).toEqual([]);
  });

  test('includes appointments that began before it and overlap it', () => {
    const time = { kind: 'timed', startAt: WINDOW.fromAt - HOUR_MS, endAt: WINDOW.fromAt + 1 } as const;
    const appointment = appointmentOf('1', { time });
    expect(reasons(compare([appointment]).changes)).toEqual(['1 new']);
    expect(compare([appointment], { links: written(appointment) })).toMatchObject({ changes: [], released: [] });
  });

  test('is left by the passing of time without any removal', () => {
    const links = written(appointmentOf('1'));
    const later = { fromAt: WINDOW.fromAt + 10 * DAY_MS, toAt: WINDOW.toAt + 10 * DAY_MS };
    for (const seen of [[], [appointmentOf('1')], [appointmentOf('1', { status: 'cancelled' })]]) {
      expect(compare(seen, { links }, { window: later })).toEqual({
        changes: [],
        released: ['1'],
        timed: [],
        unchanged: 0,
        unsettled: 0,
      });
    }
  });

  test('does not cover appointments moved back into it, nor confirmed removals: their objects are removed', () => {
    const links = written(appointmentOf('1'));
    const later = { fromAt: WINDOW.fromAt + 10 * DAY_MS, toAt: WINDOW.toAt + 10 * DAY_MS };
    const moved = compare([appointmentOf('1', { inHours: 20 * 24 })], { links }, { window: later });
    expect([reasons(moved.changes), moved.released]).toEqual([['1 content-changed'], []]);
    const gone = compare([], { links }, { window: later, vanished: new Set(['1']) });
    expect([reasons(gone.changes), gone.released]).toEqual([['1 vanished'], []]);
  });

  test('is left by a block of a month when its end leaves, not with its start', () => {
    const time = { kind: 'timed', startAt: NOW, endAt: NOW + 30 * DAY_MS } as const;
    const links = written(appointmentOf('1', { time }));
    const windowIn = (days: number) => ({ fromAt: NOW + (days - 7) * DAY_MS, toAt: NOW + (days + 30) * DAY_MS });
    for (const days of [0, 7, 9, 20, 36]) {
      expect(absentCandidates({ links, pending: new Map() }, windowIn(days), () => false)).toEqual(['1']);
      expect(compare([], { links }, { window: windowIn(days) }).released).toEqual([]);
      const cancelled = appointmentOf('1', { time, status: 'cancelled' });
      expect(reasons(compare([cancelled], { links }, { window: windowIn(days) }).changes)).toEqual(['1 cancelled']);
    }
    expect(absentCandidates({ links, pending: new Map() }, windowIn(37), () => false)).toEqual([]);
    expect(compare([], { links }, { window: windowIn(37) }).released).toEqual(['1']);
  });

  test('is checked with the current time, even if a link or an object has no time', () => {
    const appointment = appointmentOf('1');
    const { startAt, endAt } = appointment.time;
    const [[, link]] = [...written(appointment)] as [[string, Link]];
    const timedOf = (changes: Partial<Link>, state: Partial<PushedState> = {}, input = {}) =>
      compare([appointment], { links: new Map([['1', { ...link, ...changes }]]), ...state }, input).timed;
    const told = [{ recordId: '1', fingerprint: link.fingerprint, startAt, endAt }];
    expect(timedOf({})).toEqual([]);
    expect(timedOf({ unmarked: true })).toEqual([]);
    expect(timedOf({ unmarked: true, isRebuilt: true })).toMatchObject([{ recordId: '1' }]);
    expect(timedOf({ startAt: startAt + 999, endAt: endAt - 999 })).toEqual([]);
    expect(timedOf({ endAt: startAt })).toEqual(told);
    expect(timedOf({ endAt: endAt - 1_000 })).toEqual(told);
    expect(timedOf({ startAt: startAt + 1_000 })).toEqual(told);
    expect(timedOf({ endAt: startAt, drift: 'edited' }, {}, { restores: () => false })).toEqual(told);
    expect(timedOf({ endAt: startAt, drift: 'edited' })).toEqual([]);
    expect(timedOf({ endAt: startAt }, { pending: waiting(compare([appointment]).changes) })).toEqual([]);
    expect(timedOf({ endAt: startAt, fingerprint: 'other' })).toEqual([]);
  });

  test('is not left while something still waits to be written', () => {
    const { changes } = compare([appointmentOf('1')]);
    const links = carriedOut(new Map(), changes);
    const later = { fromAt: WINDOW.fromAt + 10 * DAY_MS, toAt: WINDOW.toAt + 10 * DAY_MS };
    expect(compare([], { links, pending: waiting(changes) }, { window: later }).released).toEqual([]);
  });

  test('is left by a move, and the object moves along', () => {
    const links = written(appointmentOf('1'));
    expect(compare([beyond], { links }).changes).toMatchObject([{ reason: 'content-changed', fields: ['time'] }]);
    expect(compare([before], { links }).changes).toMatchObject([{ reason: 'content-changed' }]);
  });

  test('is entered again by an appointment that had moved out', () => {
    const out = carriedOut(
      written(appointmentOf('1')),
      compare([beyond], { links: written(appointmentOf('1')) }).changes,
    );
    expect(compare([], { links: out })).toEqual({ changes: [], released: [], timed: [], unchanged: 0, unsettled: 0 });
    expect(reasons(compare([appointmentOf('1')], { links: out }).changes)).toEqual(['1 content-changed']);
    const later = { fromAt: WINDOW.fromAt, toAt: WINDOW.toAt + 10 * DAY_MS };
    expect(compare([beyond], { links: out }, { window: later })).toMatchObject({
      changes: [],
      unchanged: 1,
      unsettled: 0,
    });
  });
});

describe('objects written by version 0.1.0', () => {
  const links = new Map(
    [...written(appointmentOf('1'), appointmentOf('2'))].map(([id, link]) => [
      id,
      { ...link, fingerprint: asOfFirstVersion(link.fingerprint) },
    ]),
  );

  test('is not written again for the sake of a longer fingerprint', () => {
    expect(compare([appointmentOf('1'), appointmentOf('2')], { links })).toMatchObject({
      changes: [],
      unchanged: 2,
      unsettled: 0,
    });
  });

  test('are written again when they change, and the field is reported', () => {
    const { changes } = compare([appointmentOf('1', { inHours: 30 }), appointmentOf('2')], { links });
    expect(changes).toMatchObject([{ recordId: '1', reason: 'content-changed', fields: ['time'] }]);
  });
});

describe('records that rules keep unchanged', () => {
  const told = (state: Partial<PushedState>, stopsWriting?: boolean) => {
    const stopped: string[] = [];
    const keep = stopsWriting === undefined ? { retain: 'later' } : { retain: 'later', stopsWriting };
    const { changes } = compare([appointmentOf('1')], state, { rule: () => keep, onStopped: (id) => stopped.push(id) });
    expect(changes).toEqual([]);
    return stopped;
  };

  test('cancel a waiting write if the rule stops writing, never a waiting removal', () => {
    const links = written(appointmentOf('1'));
    const pending = waiting(compare([appointmentOf('1', { inHours: 30 })], { links }).changes);
    const removal = waiting(compare([appointmentOf('1', { status: 'cancelled' })], { links }).changes);
    expect(told({ links, pending }, true)).toEqual(['1']);
    expect(told({ links, pending }, false)).toEqual([]);
    expect(told({ links, pending })).toEqual([]);
    expect(told({ links, pending: removal }, true)).toEqual([]);
    expect(told({ links }, true)).toEqual([]);
  });

  test('stay unchanged without a listener for cancelled writes', () => {
    const pending = waiting(compare([appointmentOf('1')]).changes);
    const rule = () => ({ retain: 'later', stopsWriting: true });
    expect(compare([appointmentOf('1')], { pending }, { rule }).changes).toEqual([]);
    const before = appointmentOf('1', { inHours: -8 * 24 });
    const inPast = new Map([['1', { ...pending.get('1')!, ...before.time }]]);
    expect(compare([before], { pending: inPast }).changes).toEqual([]);
  });
});

describe('records outside the window', () => {
  const { fromAt, toAt } = WINDOW;
  const at = (recordId: string, startAt: number, endAt = startAt + 1): [string, Link] => [
    recordId,
    linkOf(recordId, 'f', { startAt, endAt }),
  ];
  const entry = (recordId: string, startAt: number, changes: Partial<PendingChange> = {}): [string, PendingChange] => {
    const [waits] = waiting(compare([appointmentOf(recordId)]).changes).values();
    const fingerprint = changes.want === 'absent' ? null : waits!.fingerprint;
    return [recordId, { ...waits!, startAt, endAt: startAt + 1, fingerprint, ...changes }];
  };

  test('are fetched after the end of the window, and wherever a change waits', () => {
    const links = new Map([at('past', fromAt - 2), at('in', fromAt), at('last', toAt - 1), at('beyond', toAt)]);
    const pending = new Map([
      entry('waits before', fromAt - 2),
      entry('waits in', fromAt),
      entry('waits beyond', toAt),
      entry('goes', toAt, { want: 'absent' }),
      entry('erased', toAt, { want: 'absent', reason: 'forgotten' }),
    ]);
    const outside = ['beyond', 'waits before', 'waits beyond', 'goes'];
    expect(outlying({ links, pending }, WINDOW)).toEqual(outside);
    const both = new Map([...links, at('waits beyond', toAt), at('erased', toAt)]);
    expect(outlying({ links: both, pending }, WINDOW)).toEqual(outside);
  });

  test('are no longer created, and pending changes are completed', () => {
    const before = appointmentOf('1', { inHours: -8 * 24 });
    const compared = (state: Partial<PushedState>, appointment = before) => {
      const stopped: string[] = [];
      const { changes } = compare([appointment], state, { onStopped: (id) => stopped.push(id) });
      return { reasons: reasons(changes), stopped };
    };
    const inPast = before.time.startAt;
    const links = written(appointmentOf('1'));
    const nothing = { reasons: [], stopped: [] };
    expect(compared({ pending: new Map([entry('1', inPast)]) })).toEqual({ reasons: [], stopped: ['1'] });
    expect(compared({ pending: new Map([entry('1', inPast, { want: 'absent' })]) })).toEqual(nothing);
    const changed = { reasons: ['1 content-changed'], stopped: [] };
    expect(compared({ pending: new Map([entry('1', inPast, { sent: true })]) })).toEqual(changed);
    expect(compared({ pending: new Map([entry('1', inPast)]), links })).toEqual(changed);
    expect(compared({ pending: new Map([entry('1', NOW)]) })).toEqual(changed);
    const removal = new Map([entry('1', inPast, { want: 'absent' })]);
    expect(compared({ pending: removal, links })).toEqual({ reasons: ['1 new'], stopped: [] });
    const cancelled = { ...before, status: 'cancelled' as const };
    expect(compared({ pending: new Map([entry('1', inPast)]), links }, cancelled)).toEqual({
      reasons: ['1 cancelled'],
      stopped: [],
    });
  });
});

describe('a manual change to an object', () => {
  const touched = (drift: 'edited' | 'removed', observedFingerprint?: string) => {
    const [link] = [...written(appointmentOf('1')).values()];
    return new Map([['1', { ...link!, drift, ...(observedFingerprint === undefined ? {} : { observedFingerprint }) }]]);
  };
  const other = identity.fingerprint({
    title: 'Lunch',
    description: null,
    location: null,
    time: { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-17' },
    busy: true,
  });

  test.for(['edited', 'removed'] as const)('(%s) is undone if the target restores, and stays otherwise', (drift) => {
    const links = touched(drift, drift === 'edited' ? other : undefined);
    const { changes } = compare([appointmentOf('1')], { links });
    expect(reasons(changes)).toEqual([`1 ${drift}-by-hand`]);
    expect(changes[0]?.fields.length === 0).toBe(drift === 'removed');
    const kept = compare([appointmentOf('1')], { links }, { restores: () => false });
    expect(kept).toEqual({ changes: [], released: [], timed: [], unchanged: 1, unsettled: 0 });
  });

  test('that is unreadable is reported as unknown', () => {
    const { changes } = compare([appointmentOf('1')], { links: touched('edited') });
    expect(changes[0]?.fields).toEqual(['unknown']);
  });

  test('is reported with the fields that the user changed', () => {
    const { changes } = compare([appointmentOf('1')], { links: touched('edited', other) });
    expect(changes[0]?.fields).toContain('time');
  });

  test.for(['edited', 'removed'] as const)('(%s) gives way when the appointment changes or goes', (drift) => {
    const links = touched(drift);
    const restores = () => false;
    const moved = compare([appointmentOf('1', { inHours: 30 })], { links }, { restores });
    expect(moved.changes).toMatchObject([{ reason: 'content-changed', fields: ['time'] }]);
    const cancelled = compare([appointmentOf('1', { status: 'cancelled' })], { links }, { restores });
    expect(cancelled.changes).toMatchObject([{ reason: 'cancelled', wanted: { want: 'absent' } }]);
  });
});

describe('whether it is undone', () => {
  const counts = new Map([
    ['often', 11],
    ['seldom', 10],
  ]);

  test('it is under `repair`, until the object was restored too often today', () => {
    const restores = restoring({ drift: 'repair', rewritesPerDay: 10 }, counts);
    expect(['often', 'seldom', 'never'].map(restores)).toEqual([false, true, true]);
    expect(restoring({ drift: 'repair', rewritesPerDay: 0 }, counts)('never')).toBe(true);
  });

  test.each(['keep', 'report'] as const)('it is not under `%s`', (drift) => {
    expect(restoring({ drift, rewritesPerDay: 10 }, counts)('never')).toBe(false);
  });
});

describe('records that are absent from a complete snapshot', () => {
  const nobody = () => false;

  test('are to be fetched individually if the target has objects for them in the window', () => {
    const links = written(appointmentOf('1'), appointmentOf('2'));
    const state = { links, pending: new Map() };
    expect(absentCandidates(state, WINDOW, nobody)).toEqual(['1', '2']);
    expect(absentCandidates(state, WINDOW, (id) => id === '1')).toEqual(['2']);
  });

  test('are to be fetched individually if they only wait to be written', () => {
    const pending = waiting(compare([appointmentOf('1')]).changes);
    expect(absentCandidates({ links: new Map(), pending }, WINDOW, nobody)).toEqual(['1']);
  });

  test('are each asked for once, and not at all while their removal waits', () => {
    const links = written(appointmentOf('1'));
    const moved = waiting(compare([appointmentOf('1', { inHours: 30 })], { links }).changes);
    expect(absentCandidates({ links, pending: moved }, WINDOW, nobody)).toEqual(['1']);
    const removed = waiting(compare([appointmentOf('1', { status: 'cancelled' })], { links }).changes);
    expect(absentCandidates({ links, pending: removed }, WINDOW, nobody)).toEqual([]);
    expect(absentCandidates({ links: new Map(), pending: removed }, WINDOW, nobody)).toEqual([]);
  });

  test('are none of our business outside the window, whose edges are half-open', () => {
    const at = (recordId: string, startAt: number, endAt: number): [string, Link] => [
      recordId,
      linkOf(recordId, 'f', { startAt, endAt }),
    ];
    const { fromAt, toAt } = WINDOW;
    const links = new Map([
      at('before', fromAt - 1, fromAt),
      at('into', fromAt - 30 * DAY_MS, fromAt + 1),
      at('moment', fromAt, fromAt),
      at('moment before', fromAt - 1, fromAt - 1),
      at('last', toAt - 1, toAt + DAY_MS),
      at('across', fromAt - 1, toAt + 1),
      at('beyond', toAt, toAt + 1),
    ]);
    const state = { links, pending: new Map() };
    expect(absentCandidates(state, WINDOW, nobody)).toEqual(['into', 'moment', 'last', 'across']);
  });

  test('are those that a single question names, for any links and pending changes', () => {
    const spans = fc.constantFrom(-30 * DAY_MS, 0, HOUR_MS, 400 * DAY_MS).map((offsetMs) => {
      const startAt = WINDOW.fromAt + offsetMs;
      return { startAt, endAt: startAt + HOUR_MS };
    });
    const ids = fc.constantFrom('a', 'b', 'c');
    const linked = fc.array(fc.tuple(ids, spans));
    const waitingFor = fc.array(fc.tuple(ids, spans, fc.constantFrom('present' as const, 'absent' as const)));
    fc.assert(
      fc.property(linked, waitingFor, (some, others) => {
        const links = new Map(some.map(([id, span]) => [id, linkOf(id, 'f', span)]));
        const pending = new Map(
          others.map(([recordId, span, want]) => [recordId, { recordId, want, ...span } as PendingChange]),
        );
        const state = { links, pending };
        const named = ['a', 'b', 'c', 'unknown'].filter((id) => isHeldIn(state, WINDOW, id));
        expect([...heldIn(state, WINDOW)].sort()).toEqual(named);
      }),
    );
  });
});

const clinics = fc
  .uniqueArray(
    fc.record({
      id: fc.nat(40).map(String),
      inHours: fc.integer({ min: -10 * 24, max: 35 * 24 }),
      status: fc.constantFrom(...STATUSES),
      agendaId: fc.constantFrom('a1', 'a1', 'a1', 'a2'),
    }),
    { selector: ({ id }) => id, maxLength: 30 },
  )
  .map((drafts) => drafts.map(({ id, ...changes }) => appointmentOf(id, changes)));

describe('any two states of a clinic', () => {
  test('are one plan apart: carried out, nothing is left to do, and twice is as good as once', () => {
    fc.assert(
      fc.property(clinics, clinics, (earlier, later) => {
        const links = carriedOut(new Map(), compare(earlier).changes);
        const ids = new Set(later.map(({ id }) => id));
        const vanished = new Set([...links.keys()].filter((id) => !ids.has(id)));
        const first = compare(later, { links }, { vanished });
        expect(compare(later, { links }, { vanished })).toEqual(first);
        const after = carriedOut(links, first.changes, first.released);
        const second = compare(later, { links: after }, { vanished });
        expect(second.changes).toEqual([]);
      }),
    );
  });

  test('are one plan apart even while the plan waits in the outbox, or is partly done', () => {
    fc.assert(
      fc.property(clinics, clinics, fc.nat(), (earlier, later, done) => {
        const links = carriedOut(new Map(), compare(earlier).changes);
        const { changes } = compare(later, { links });
        const cut = changes.length === 0 ? 0 : done % (changes.length + 1);
        const half = carriedOut(links, changes.slice(0, cut));
        const state = { links: half, pending: waiting(changes.slice(cut)) };
        expect(compare(later, state).changes).toEqual([]);
      }),
    );
  });

  test('never delete an object for being absent: only a confirmed removal is called vanished', () => {
    fc.assert(
      fc.property(clinics, clinics, (earlier, later) => {
        const links = carriedOut(new Map(), compare(earlier).changes);
        const { changes } = compare(later, { links });
        const shown = new Set(later.map(({ id }) => id));
        expect(changes.every(({ recordId }) => shown.has(recordId))).toBe(true);
      }),
    );
  });
});

describe('known fingerprints', () => {
  const memory = () => {
    const kept = new FingerprintMemory();
    return (context = 'catalogue') => kept.under<Appointment>(context, ({ id }) => id !== 'pinned');
  };

  test('make no other plan, whatever happened since', () => {
    const drifts = fc.constantFrom<Link['drift']>(null, 'edited', 'removed');
    fc.assert(
      fc.property(clinics, clinics, fc.array(drifts), fc.boolean(), (earlier, later, drifted, restoring) => {
        const under = memory();
        const found = compare(earlier, {}, { fingerprints: under() });
        const links = carriedOut(new Map(), found.changes);
        for (const [index, [id, link]] of [...links].entries()) {
          links.set(id, { ...link, drift: drifted[index] ?? null, idAttempt: index % 2 });
        }
        const both = [...earlier, ...later];
        const changes = { restores: () => restoring };
        const plain = compare(both, { links }, changes);
        for (const context of ['catalogue', 'catalogue', 'another']) {
          expect(compare(both, { links }, { ...changes, fingerprints: under(context) })).toEqual(plain);
        }
      }),
    );
  });

  test('skip the rule and the hashing, only for the same record in the same context', () => {
    const under = memory();
    const [one, pinned] = [appointmentOf('one'), appointmentOf('pinned')];
    const links = written(one, pinned);
    const rule = vi.fn(() => ({ exclude: 'nothing is ruled here' }));
    const ruled = (appointments: Appointment[], context?: string) => {
      rule.mockClear();
      compare(appointments, { links }, { rule, fingerprints: under(context) });
      return rule.mock.calls.length;
    };
    compare([one, pinned], { links }, { fingerprints: under() });
    expect(ruled([one])).toBe(0);
    expect(ruled([pinned])).toBe(1);
    expect(ruled([{ ...one }])).toBe(1);
    expect(ruled([one], 'another')).toBe(1);
  });
});
