import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PlannedChange } from '../../src/model/plan.ts';
import { type GuardInput, guard } from '../../src/sync/guard.ts';
import { NOW } from './arbitraries.ts';

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

function weigh(input: Partial<GuardInput>) {
  return guard({
    changes: [],
    linkCount: 100,
    recentDeletions: { cancelled: 0, vanished: 0 },
    limits: LIMITS,
    approved: new Set(),
    waiting: new Set(),
    rejected: new Set(),
    ...input,
  });
}

describe('deletions', () => {
  test('that wait in an open hold go on waiting when the hour that filled the limit is over', () => {
    const changes = removals(3);
    const waiting = new Set(changes.map(({ recordId }) => recordId));
    expect(weigh({ changes, waiting }).held.vanished).toEqual(changes);
    expect(weigh({ changes }).passed).toEqual(changes);
  });

  test('that are planned while others wait are weighed together with them', () => {
    const waiting = new Set(removals(20).map(({ recordId }) => recordId));
    const verdict = weigh({ changes: [...removals(20), removal('one-more')], waiting });
    expect(verdict.held.vanished).toHaveLength(21);
  });

  test.each([
    { deleted: 20, links: 100, held: false, why: 'at the share' },
    { deleted: 21, links: 100, held: true, why: 'above share and count' },
    { deleted: 10, links: 10, held: false, why: 'all of a small calendar, at the count' },
    { deleted: 11, links: 11, held: true, why: 'all of a calendar above the count' },
    { deleted: 200, links: 10_000, held: false, why: 'many, of very many' },
    { deleted: 2_001, links: 10_000, held: true, why: 'too many of very many' },
  ])('$deleted of $links are held: $held ($why)', ({ deleted, links, held }) => {
    const verdict = weigh({ changes: removals(deleted), linkCount: links });
    expect(verdict.held.vanished).toHaveLength(held ? deleted : 0);
    expect(verdict.passed).toHaveLength(held ? 0 : deleted);
  });

  test('spread over an hour are held as if they came at once', () => {
    expect(weigh({ changes: removals(1), recentDeletions: { cancelled: 0, vanished: 20 } }).passed).toHaveLength(1);
    expect(weigh({ changes: removals(6), recentDeletions: { cancelled: 0, vanished: 20 } }).held.vanished).toHaveLength(
      6,
    );
  });

  test('that the clinic calls cancelled have limits of their own', () => {
    expect(weigh({ changes: removals(60, 'cancelled') }).passed).toHaveLength(60);
    expect(weigh({ changes: removals(61, 'cancelled') }).held.cancelled).toHaveLength(61);
    const both = weigh({ changes: [...removals(20), ...removals(60, 'cancelled')] });
    expect(both.passed).toHaveLength(80);
  });

  test('of appointments that no longer belong here count as vanished', () => {
    const verdict = weigh({ changes: [...removals(11), ...removals(11, 'excluded')] });
    expect(verdict.held.vanished).toHaveLength(22);
  });

  test('that a person approved pass, and do not weigh on the others', () => {
    const changes = removals(40);
    const approved = new Set(changes.slice(0, 30).map(({ recordId }) => recordId));
    const verdict = weigh({ changes, approved });
    expect(verdict.passed).toHaveLength(40);
  });

  test('that a person rejected stay, and do not weigh on the others', () => {
    const changes = removals(40);
    const rejected = new Set(changes.slice(0, 30).map(({ recordId }) => recordId));
    const verdict = weigh({ changes, rejected });
    expect(verdict.refused).toEqual(changes.slice(0, 30));
    expect(verdict.passed).toEqual(changes.slice(30));
  });
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
      fc.record({ cancelled: fc.nat(30), vanished: fc.nat(30) }),
      ([changes, approved, rejected], linkCount, recentDeletions) => {
        const verdict = weigh({
          changes,
          linkCount,
          recentDeletions,
          approved: new Set(approved),
          rejected: new Set(rejected),
        });
        const everywhere = [...verdict.passed, ...verdict.held.cancelled, ...verdict.held.vanished, ...verdict.refused];
        expect(new Set(everywhere)).toEqual(new Set(changes));
        expect(everywhere).toHaveLength(changes.length);
        const kept = [...verdict.held.cancelled, ...verdict.held.vanished, ...verdict.refused];
        expect(kept.every(({ wanted }) => wanted.want === 'absent')).toBe(true);
        const undecidedPassed = verdict.passed.filter(
          ({ wanted, recordId, reason }) =>
            wanted.want === 'absent' && !approved.includes(recordId) && reason !== 'cancelled',
        ).length;
        const spent = undecidedPassed + recentDeletions.vanished;
        const base = linkCount + recentDeletions.vanished;
        if (undecidedPassed > 0)
          expect(spent <= LIMITS.vanished.count || spent <= base * LIMITS.vanished.share).toBe(true);
      },
    ),
  );
});
