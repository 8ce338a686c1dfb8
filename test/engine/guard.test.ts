import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlannedChange } from '../../src/core/model/plan.ts';
import { type GoneCounts, type GuardInput, goneShareOf, guard, holdAll } from '../../src/engine/guard.ts';
import { NOW } from '../domain/arbitraries.ts';

const LIMITS = { vanished: { share: 0.2, count: 10 }, cancelled: { share: 0.6, count: 50 } };

function removal(recordId: string, reason: 'vanished' | 'excluded' | 'cancelled' = 'vanished'): PlannedChange {
  return { recordId, reason, wanted: { want: 'absent', startAt: NOW, endAt: NOW }, fields: [] };
}

function writing(recordId: string, reason: 'new' | 'content-changed' = 'new'): PlannedChange {
  const time = { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' } as const;
  const item = { title: 'Busy', description: null, location: null, time, busy: true };
  return {
    recordId,
    reason,
    wanted: { want: 'present', item, fingerprint: recordId, startAt: NOW, endAt: NOW },
    fields: [],
  };
}

function removals(count: number, reason: 'vanished' | 'excluded' | 'cancelled' = 'vanished'): PlannedChange[] {
  return Array.from({ length: count }, (_, index) => removal(`${reason}-${index}`, reason));
}

const NONE = { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };
/** All that is absent is known to be gone. */
const ALL_PROVEN = { isProven: () => true, isUnknown: () => false, goneShare: goneShareOf(0, 0) };

function left(hour: Partial<GoneCounts>, week: Partial<GoneCounts> = hour): GuardInput['gone'] {
  return { hour: { ...NONE, ...hour }, week: { ...NONE, ...week } };
}

function weigh(input: Partial<GuardInput>) {
  return guard({
    changes: [],
    linkCount: 100,
    gone: left({}),
    absence: ALL_PROVEN,
    limits: LIMITS,
    approved: new Set(),
    waiting: new Set(),
    rejected: new Set(),
    ...input,
  });
}

describe('deletions', () => {
  test('that wait in an open hold still wait after the hour that filled the limit', () => {
    const changes = removals(3);
    const waiting = new Set(changes.map(({ recordId }) => recordId));
    expect(weigh({ changes, waiting }).held.vanished).toEqual(changes);
    expect(weigh({ changes }).permitted).toEqual(changes);
  });

  test('that are planned while others wait are weighed together with them', () => {
    const waiting = new Set(removals(20).map(({ recordId }) => recordId));
    const verdict = weigh({ changes: [...removals(20), removal('one-more')], waiting });
    expect(verdict.held.vanished).toHaveLength(21);
  });

  test.each([
    { deleted: 20, links: 100, held: false, why: 'at the share' },
    { deleted: 21, links: 100, held: true, why: 'above share and count' },
    { deleted: 2, links: 2, held: false, why: 'two are a normal day, whatever there was' },
    { deleted: 3, links: 6, held: true, why: 'half of the calendar, from three on' },
    { deleted: 3, links: 7, held: false, why: 'less than half of a small calendar' },
    { deleted: 8, links: 8, held: true, why: 'all of a small calendar' },
    { deleted: 9, links: 19, held: false, why: 'less than half, at the count' },
    { deleted: 10, links: 20, held: true, why: 'half of the calendar, at the count' },
    { deleted: 10, links: 21, held: false, why: 'less than half, at the count' },
    { deleted: 200, links: 10_000, held: false, why: 'many, of very many' },
    { deleted: 2_001, links: 10_000, held: true, why: 'too many of very many' },
  ])('$deleted of $links are held: $held ($why)', ({ deleted, links, held }) => {
    const verdict = weigh({ changes: removals(deleted), linkCount: links });
    expect(verdict.held.vanished).toHaveLength(held ? deleted : 0);
    expect(verdict.permitted).toHaveLength(held ? 0 : deleted);
  });

  test('spread over an hour are held as if they came at once', () => {
    expect(weigh({ changes: removals(1), gone: left({ vanished: 20 }) }).permitted).toHaveLength(1);
    expect(weigh({ changes: removals(6), gone: left({ vanished: 20 }) }).held.vanished).toHaveLength(6);
    expect(weigh({ changes: removals(6, 'excluded'), gone: left({ excluded: 20 }) }).held.vanished).toHaveLength(6);
    const cancelled = (count: number) =>
      weigh({ changes: removals(count, 'cancelled'), linkCount: 40, gone: left({ cancelled: 50 }) });
    expect(cancelled(4).permitted).toHaveLength(4);
    expect(cancelled(15).held.cancelled).toHaveLength(15);
  });

  test('spread over days are held as if they came at once, as far as the clinic is silent about them', () => {
    const week = { vanished: 20 };
    expect(weigh({ changes: removals(4), gone: left({}, week) }).permitted).toHaveLength(4);
    expect(weigh({ changes: removals(5), gone: left({}, week) }).held.vanished).toHaveLength(5);
    // A status that takes records out day by day is a normal week.
    expect(weigh({ changes: removals(20, 'excluded'), gone: left({}, { excluded: 60 }) }).permitted).toHaveLength(20);
    expect(weigh({ changes: removals(60, 'cancelled'), gone: left({}, { cancelled: 60 }) }).permitted).toHaveLength(60);
  });

  test('over days are a share of all that the target held in them', () => {
    const busy = { released: 60, cancelled: 20, excluded: 20 };
    expect(weigh({ changes: removals(20), gone: left({}, { ...busy, vanished: 20 }) }).permitted).toHaveLength(20);
    expect(weigh({ changes: removals(20), gone: left({}, { vanished: 20 }) }).held.vanished).toHaveLength(20);
  });

  test('a small calendar is emptied neither at once nor day by day, unless its share is at least half', () => {
    expect(weigh({ changes: removals(3), linkCount: 8 }).permitted).toHaveLength(3);
    expect(weigh({ changes: removals(1), linkCount: 5, gone: left({}, { vanished: 3 }) }).held.vanished).toHaveLength(
      1,
    );
    expect(weigh({ changes: removals(1), linkCount: 5, gone: left({ vanished: 3 }) }).held.vanished).toHaveLength(1);
    expect(weigh({ changes: removals(8, 'excluded'), linkCount: 8 }).permitted).toHaveLength(8);
    expect(weigh({ changes: removals(8, 'cancelled'), linkCount: 8 }).permitted).toHaveLength(8);
    const limits = { ...LIMITS, vanished: { share: 0.5, count: 10 } };
    expect(weigh({ changes: removals(8), linkCount: 8, limits }).permitted).toHaveLength(8);
  });

  test('of appointments that the clinic cancelled have separate limits', () => {
    expect(weigh({ changes: removals(60, 'cancelled') }).permitted).toHaveLength(60);
    expect(weigh({ changes: removals(61, 'cancelled') }).held.cancelled).toHaveLength(61);
    const both = weigh({ changes: [...removals(20), ...removals(60, 'cancelled')] });
    expect(both.permitted).toHaveLength(80);
  });

  test('that the clinic calls cancelled are weighed together with those that wait in a hold', () => {
    const waiting = new Set(removals(40, 'cancelled').map(({ recordId }) => recordId));
    const changes = removals(61, 'cancelled');
    expect(weigh({ changes, waiting }).held.cancelled).toHaveLength(61);
    expect(weigh({ changes: changes.slice(0, 60), waiting }).permitted).toHaveLength(20);
  });

  test('of a patient to be forgotten are never held: an operator requested them', () => {
    const changes = removals(40).map((change) => ({ ...change, reason: 'forgotten' as const }));
    expect(weigh({ changes, linkCount: 40 })).toMatchObject({
      permitted: changes,
      held: { vanished: [], cancelled: [] },
    });
  });

  test('are a share of what the target held before those of the hour, excluded ones among them', () => {
    const gone = left({ excluded: 12 });
    expect(weigh({ changes: removals(10), gone }).permitted).toHaveLength(10);
    expect(weigh({ changes: removals(11), gone }).held.vanished).toHaveLength(11);
  });

  test('of appointments that no longer match the target are treated as vanished', () => {
    const verdict = weigh({ changes: [...removals(11), ...removals(11, 'excluded')] });
    expect(verdict.held.vanished).toHaveLength(22);
  });

  test('approved by an operator pass, and do not count against the others', () => {
    const changes = removals(40);
    const approved = new Set(changes.slice(0, 30).map(({ recordId }) => recordId));
    const verdict = weigh({ changes, approved });
    expect(verdict.permitted).toHaveLength(40);
  });

  test('rejected by an operator stay, and do not count against the others', () => {
    const changes = removals(40);
    const rejected = new Set(changes.slice(0, 30).map(({ recordId }) => recordId));
    const verdict = weigh({ changes, rejected });
    expect(verdict.refused).toEqual(changes.slice(0, 30));
    expect(verdict.permitted).toEqual(changes.slice(30));
  });
});

describe('absent records', () => {
  /** The first so many are proven gone, the next were missed once, the rest was not asked for. */
  const known = (proven: number, once: number, asked: number, gone: number): GuardInput['absence'] => {
    const ids = removals(proven + once).map(({ recordId }) => recordId);
    return {
      isProven: (id) => ids.slice(0, proven).includes(id),
      isUnknown: (id) => !ids.includes(id),
      goneShare: goneShareOf(asked, gone),
    };
  };

  test('are removed when they are proven to be gone; the others wait', () => {
    const changes = removals(9);
    const verdict = weigh({ changes, absence: known(4, 5, 9, 9) });
    expect(verdict.permitted).toEqual(changes.slice(0, 4));
    expect(verdict.postponed).toEqual(changes.slice(4));
    expect(verdict.distrustsReading).toBe(false);
  });

  test('are all held before the first is removed, unqueried ones included', () => {
    const changes = removals(2_500);
    const verdict = weigh({ changes, linkCount: 2_500, absence: known(0, 200, 200, 200) });
    expect(verdict).toMatchObject({ permitted: [], postponed: [], distrustsReading: true });
    expect(verdict.held.vanished).toEqual(changes);
  });

  test('are neither held nor delay others if the sample shows that they exist', () => {
    const changes = removals(2_000);
    const verdict = weigh({ changes, linkCount: 2_500, absence: known(2, 0, 198, 0) });
    expect(verdict.permitted).toEqual(changes.slice(0, 2));
    expect(verdict.held.vanished).toEqual([]);
  });

  test('wait while the sample leaves open whether they are too many', () => {
    const changes = removals(2_000);
    const verdict = weigh({ changes, linkCount: 2_500, absence: known(1, 0, 10, 2) });
    expect(verdict).toMatchObject({ permitted: [], held: { vanished: [] } });
    expect(verdict.postponed).toEqual(changes);
    // No record could be fetched.
    expect(weigh({ changes, linkCount: 2_500, absence: known(1, 0, 0, 0) }).postponed).toEqual(changes);
    // Even if every absent record is gone, the share stays below the limit.
    expect(weigh({ changes, linkCount: 10_000, absence: known(1, 0, 0, 0) }).permitted).toHaveLength(1);
  });

  test('wait while removals by the clinic continue', () => {
    const changes = [...removals(2_000), ...removals(3, 'excluded')];
    const verdict = weigh({ changes, linkCount: 2_500, absence: known(1, 0, 0, 0) });
    expect(verdict.permitted).toEqual(changes.slice(2_000));
  });

  test('approved by an operator still wait for the proof', () => {
    const changes = removals(4);
    const approved = new Set(changes.map(({ recordId }) => recordId));
    const verdict = weigh({ changes, approved, absence: known(3, 1, 4, 4) });
    expect(verdict).toMatchObject({ permitted: changes.slice(0, 3), postponed: changes.slice(3) });
  });

  test('waiting in a hold keep the scan distrusted', () => {
    const changes = removals(30);
    const waiting = new Set(changes.map(({ recordId }) => recordId));
    expect(weigh({ changes, waiting }).distrustsReading).toBe(true);
    expect(weigh({ changes: removals(30, 'excluded') }).distrustsReading).toBe(false);
    expect(weigh({ changes: removals(3), waiting }).distrustsReading).toBe(false);
    // Removals by the clinic do not reduce the distrust.
    expect(weigh({ changes: [...changes, ...removals(3, 'excluded')], waiting }).distrustsReading).toBe(true);
  });

  test('a sample estimates the rest with a margin of three records', () => {
    expect(goneShareOf(0, 0)).toEqual({ atLeast: 0, atMost: 1 });
    expect(goneShareOf(200, 0)).toEqual({ atLeast: 0, atMost: 0.015 });
    expect(goneShareOf(200, 200)).toEqual({ atLeast: 0.985, atMost: 1 });
    expect(goneShareOf(100, 50)).toEqual({ atLeast: 0.47, atMost: 0.53 });
  });
});

test('if another target distrusts the scan, every undecided removal is held unless the clinic cancelled the appointment', () => {
  const removed = [removal('gone'), removal('elsewhere', 'excluded')];
  const [decided, open, written, off] = [
    removal('decided'),
    removal('open'),
    writing('new'),
    removal('off', 'cancelled'),
  ];
  const absence = { ...ALL_PROVEN, isProven: (id: string) => id !== 'open' };
  const approved = new Set(['decided']);
  const verdict = weigh({ changes: [...removed, decided, open, written, off], approved, absence });
  expect(verdict.permitted).toHaveLength(5);
  const kept = holdAll(verdict, approved);
  expect(new Set(kept.permitted)).toEqual(new Set([decided, written, off]));
  expect(new Set(kept.held.vanished)).toEqual(new Set([...removed, open]));
  expect(kept.postponed).toEqual([]);
});

test('if another target distrusts the scan, approved removals still wait for their proof', () => {
  const changes = [removal('approved'), removal('open')];
  const approved = new Set(['approved']);
  const absence = { ...ALL_PROVEN, isProven: () => false };
  const kept = holdAll(weigh({ changes, approved, absence }), approved);
  expect(kept).toMatchObject({ permitted: [], postponed: [changes[0]], held: { vanished: [changes[1]] } });
});

const someChanges = fc
  .array(fc.tuple(fc.nat(60), fc.constantFrom('new', 'content-changed', 'vanished', 'excluded', 'cancelled')), {
    maxLength: 60,
  })
  .map((pairs) =>
    pairs.map(([id, reason], index) => {
      const recordId = `${id}-${index}`;
      return reason === 'new' || reason === 'content-changed' ? writing(recordId, reason) : removal(recordId, reason);
    }),
  );
const someIds = (changes: PlannedChange[]) => fc.subarray(changes.map(({ recordId }) => recordId));

test('creates and updates always pass, and every change ends in exactly one place', () => {
  fc.assert(
    fc.property(
      someChanges.chain((changes) => fc.tuple(fc.constant(changes), someIds(changes), someIds(changes))),
      fc.nat(200),
      fc.record({ cancelled: fc.nat(30), excluded: fc.nat(30), vanished: fc.nat(30), released: fc.nat(30) }),
      ([changes, approved, rejected], linkCount, hour) => {
        const verdict = weigh({
          changes,
          linkCount,
          gone: left(hour),
          approved: new Set(approved),
          rejected: new Set(rejected),
        });
        const everywhere = [
          ...verdict.permitted,
          ...verdict.held.cancelled,
          ...verdict.held.vanished,
          ...verdict.refused,
        ];
        expect(new Set(everywhere)).toEqual(new Set(changes));
        expect(everywhere).toHaveLength(changes.length);
        const kept = [...verdict.held.cancelled, ...verdict.held.vanished, ...verdict.refused];
        expect(kept.every(({ wanted }) => wanted.want === 'absent')).toBe(true);
        const undecidedPassed = verdict.permitted.filter(
          ({ wanted, recordId, reason }) =>
            wanted.want === 'absent' && !approved.includes(recordId) && reason !== 'cancelled',
        ).length;
        const spent = undecidedPassed + hour.vanished + hour.excluded;
        const base = linkCount + hour.vanished + hour.excluded;
        if (undecidedPassed > 0)
          expect(spent <= LIMITS.vanished.count || spent <= base * LIMITS.vanished.share).toBe(true);
      },
    ),
  );
});
