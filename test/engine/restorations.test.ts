import { describe, expect, test } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import type { Hold, PlannedChange } from '../../src/core/model/plan.ts';
import { type RestorationInput, unacceptedDrift, weighRestorations } from '../../src/engine/restorations.ts';
import { NOW } from '../domain/arbitraries.ts';

const LIMIT = { share: 0.2, count: 10 };

function writing(recordId: string, reason: PlannedChange['reason'] = 'removed-by-hand'): PlannedChange {
  const time = { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' } as const;
  const item = { title: 'Busy', description: null, location: null, time, busy: true };
  const wanted = { want: 'present', item, fingerprint: recordId, startAt: NOW, endAt: NOW } as const;
  return { recordId, reason, wanted, fields: [] };
}

const idsUpTo = (count: number) => Array.from({ length: count }, (_, index) => String(index));
const restorations = (count: number) => idsUpTo(count).map((id) => writing(id));

function linkOf(recordId: string, drift: Link['drift']): Link {
  const times = { startAt: NOW, endAt: NOW };
  return { recordId, fingerprint: recordId, versionTag: null, ...times, idAttempt: 0, remoteId: null, drift };
}

/** A state with links, of which the first ones lost their object. */
function stateOf(links: number, removed: number): RestorationInput['state'] {
  const all = idsUpTo(links).map((id, index) => linkOf(id, index < removed ? 'removed' : null));
  return { links: new Map(all.map((link) => [link.recordId, link])), pending: new Map() };
}

function holdOf(state: Hold['state'], recordIds: string[], kind: Hold['kind'] = 'manual-changes'): Hold {
  const times = { createdAt: NOW, decidedAt: null, expiresAt: NOW + 1 };
  return { id: `${kind}-${state}`, target: 'doctor', kind, state, recordIds, linkCount: 100, ...times };
}

function weigh(removed: number, links: number, changes: Partial<RestorationInput> = {}) {
  const state = stateOf(links, removed);
  return weighRestorations({
    ...{ changes: restorations(removed), state, restoredBefore: 0, limit: LIMIT, holds: [] },
    ...changes,
  });
}

describe('restorations', () => {
  test.each([
    { removed: 20, links: 100, held: false, why: 'at the share' },
    { removed: 21, links: 100, held: true, why: 'above share and count' },
    { removed: 2, links: 2, held: false, why: 'two are a slip of the hand' },
    { removed: 3, links: 6, held: true, why: 'half of a small target' },
    { removed: 3, links: 7, held: false, why: 'less than half' },
    { removed: 10, links: 21, held: false, why: 'at the count' },
  ])('$removed of $links are held: $held ($why)', ({ removed, links, held }) => {
    const weighed = weigh(removed, links);
    expect([weighed.held.length, weighed.permitted.length]).toEqual(held ? [removed, 0] : [0, removed]);
    expect(weighed.restoring.size).toBe(held ? 0 : removed);
  });

  test('count together with those of the last hour', () => {
    expect(weigh(8, 50).held).toEqual([]);
    expect(weigh(8, 50, { restoredBefore: 3 }).held).toHaveLength(8);
  });

  test('count with a changed appointment too, and are then named by what happened to the object', () => {
    const changes = idsUpTo(21).map((id) => writing(id, 'content-changed'));
    expect(weigh(21, 100, { changes }).held).toEqual(restorations(21));
  });

  test('hold back no other change, and keep the order of those that pass', () => {
    const others = [writing('new', 'new'), writing('90', 'edited-by-hand'), writing('91', 'content-changed')];
    const { permitted } = weigh(21, 100, { changes: [others[0]!, ...restorations(21), ...others.slice(1)] });
    expect(permitted).toEqual(others);
    expect(weigh(0, 3, { changes: others }).permitted).toEqual(others);
  });

  test('that wait in an open hold still wait below the limit', () => {
    const { held, permitted } = weigh(3, 100, { holds: [holdOf('open', ['0', '1'])] });
    expect(held.map(({ recordId }) => recordId)).toEqual(['0', '1']);
    expect(permitted.map(({ recordId }) => recordId)).toEqual(['2']);
  });

  test('that an operator approved pass and count for nothing', () => {
    const { permitted, restoring } = weigh(25, 100, { holds: [holdOf('approved', idsUpTo(21))] });
    expect(permitted).toHaveLength(25);
    expect([...restoring]).toEqual(['21', '22', '23', '24']);
  });

  test('that an operator rejected are refused, whatever their number', () => {
    const { refused, held, permitted } = weigh(2, 100, { holds: [holdOf('rejected', ['0'])] });
    expect([refused, held, permitted]).toEqual([[writing('0')], [], [writing('1')]]);
  });

  test('are not released or refused by a decision about removals', () => {
    const holds = [holdOf('approved', idsUpTo(21), 'vanished'), holdOf('rejected', idsUpTo(21), 'cancelled')];
    expect(weigh(21, 100, { holds }).held).toHaveLength(21);
  });
});

const NONE_STORED = { notRemovedByPolicy: [], notUpdatedByPolicy: [] };
const STORED = { notRemovedByPolicy: ['1', '2'], notUpdatedByPolicy: ['0'] };
const target = (id: string, policy: 'sync' | 'upsert-only' = 'sync') => ({ id, configuration: { policy } });

test('a rejection accepts the removed objects of its own target, and no edit; a policy accepts both for the objects that it keeps', () => {
  const drifted = [linkOf('0', 'removed'), linkOf('1', 'removed'), linkOf('2', 'edited')];
  const holds = [holdOf('rejected', ['0', '2']), holdOf('open', ['1'])];
  expect(unacceptedDrift(drifted, holds, target('doctor'), NONE_STORED).map(({ recordId }) => recordId)).toEqual([
    '1',
    '2',
  ]);
  expect(unacceptedDrift(drifted, [], target('doctor', 'upsert-only'), STORED)).toEqual([linkOf('0', 'removed')]);
  expect(unacceptedDrift(drifted, [], target('doctor'), STORED)).toEqual(drifted);
  expect(unacceptedDrift(drifted, holds, target('nurse'), NONE_STORED)).toEqual(drifted);
});
