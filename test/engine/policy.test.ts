import { describe, expect, test } from 'vitest';
import { type Link, REASON_CODES, type ReasonCode } from '../../src/core/model/operations.ts';
import type { PendingChange, PlannedChange } from '../../src/core/model/plan.ts';
import type { PushedState } from '../../src/engine/diff.ts';
import {
  auditRules,
  judgeByPolicy,
  NOTHING_WITHHELD,
  permits,
  policyViewOf,
  withheldIn,
  withoutForbidden,
} from '../../src/engine/policy.ts';
import { NOW } from '../domain/arbitraries.ts';

const WRITE_POLICIES = ['sync', 'upsert-only', 'create-only'] as const;
const TIMES = { startAt: NOW, endAt: NOW };

function change(recordId: string, reason: ReasonCode, want: 'present' | 'absent'): PlannedChange {
  const wanted = want === 'absent' ? { want, ...TIMES } : { want, item: {} as never, fingerprint: 'f', ...TIMES };
  return { recordId, reason, wanted, fields: [] };
}

function waiting(recordId: string, want: 'present' | 'absent', more: Partial<PendingChange> = {}): PendingChange {
  const fingerprint = want === 'present' ? 'f' : null;
  const unsent = { attempts: 0, lastError: null, sent: false, parked: false, enqueuedAt: NOW, dueAt: NOW };
  return { recordId, reason: 'content-changed', want, fingerprint, ...TIMES, ...unsent, ...more };
}

/** A state in which the given records have an object. */
function stateOf(linked: readonly string[], pending: readonly PendingChange[] = []): PushedState {
  return {
    links: new Map(linked.map((recordId) => [recordId, { recordId } as Link])),
    pending: new Map(pending.map((each) => [each.recordId, each])),
  };
}

const idsOf = (changes: readonly PlannedChange[]) => changes.map(({ recordId }) => recordId);

describe('every kind of change', () => {
  const kinds = [
    { what: 'create', linked: [], want: 'present', allowed: ['sync', 'upsert-only', 'create-only'] },
    { what: 'update', linked: ['a'], want: 'present', allowed: ['sync', 'upsert-only'] },
    { what: 'removal', linked: ['a'], want: 'absent', allowed: ['sync'] },
    { what: 'removal without a link', linked: [], want: 'absent', allowed: ['sync'] },
  ] as const;
  const cases = WRITE_POLICIES.flatMap((policy) => kinds.map((kind) => ({ policy, ...kind })));

  test.each(cases)('$what under $policy, for every reason', ({ policy, linked, want, allowed }) => {
    const isAllowed = (allowed as readonly string[]).includes(policy);
    for (const reason of REASON_CODES) {
      const expected = isAllowed || reason === 'forgotten';
      expect([reason, permits(policy, { recordId: 'a', reason, want }, stateOf(linked))]).toEqual([reason, expected]);
      const judged = judgeByPolicy(policy, [change('a', reason, want)], stateOf(linked));
      expect(idsOf(judged.permitted)).toEqual(expected ? ['a'] : []);
      const notRemoved = !expected && want === 'absent' && linked.length > 0 ? ['a'] : [];
      expect(judged.withheld).toEqual({ notRemoved, notUpdated: !expected && want === 'present' ? ['a'] : [] });
    }
  });
});

describe('changes that were pending before', () => {
  const pending = [
    waiting('update', 'present'),
    waiting('removal', 'absent'),
    waiting('sent', 'absent', { sent: true }),
    waiting('erasure', 'absent', { reason: 'forgotten' }),
    waiting('create', 'present'),
  ];
  const linked = ['update', 'removal', 'sent', 'erasure'];

  test.each([
    { policy: 'sync', left: ['update', 'removal', 'sent', 'erasure', 'create'], abandoned: [] },
    { policy: 'upsert-only', left: ['update', 'sent', 'erasure', 'create'], abandoned: ['removal', 'sent'] },
    { policy: 'create-only', left: ['sent', 'erasure', 'create'], abandoned: ['update', 'removal', 'sent'] },
  ] as const)('$policy: forbidden ones are abandoned, and leave the comparison', ({ policy, left, abandoned }) => {
    const state = stateOf(linked, pending);
    expect([...withoutForbidden(policy, state).pending.keys()]).toEqual(left);
    expect(judgeByPolicy(policy, [], state).abandoned).toEqual(abandoned);
  });

  test('a removal is not abandoned if a permitted write replaces it', () => {
    const judged = judgeByPolicy(
      'upsert-only',
      [change('sent', 'new', 'present')],
      stateOf(['sent'], [waiting('sent', 'absent', { sent: true })]),
    );
    expect([idsOf(judged.permitted), judged.abandoned]).toEqual([['sent'], []]);
  });

  test('the pending write of a record that left is withdrawn; without an object, nothing is kept', () => {
    const state = stateOf(['old'], [waiting('old', 'present'), waiting('new', 'present')]);
    const changes = [change('old', 'cancelled', 'absent'), change('new', 'cancelled', 'absent')];
    const judged = judgeByPolicy('upsert-only', changes, state);
    expect(judged).toEqual({
      permitted: [],
      withheld: { notRemoved: ['old'], notUpdated: [] },
      abandoned: ['old', 'new'],
    });
  });
});

test('create-only repairs nothing by hand; the other policies leave the setting', () => {
  const drifts = ['repair', 'keep', 'report'] as const;
  const rules = (policy: (typeof WRITE_POLICIES)[number]) =>
    drifts.map((drift) => auditRules({ policy, audit: { drift, rewritesPerDay: 3 } }).drift);
  expect(WRITE_POLICIES.map(rules)).toEqual([
    ['repair', 'keep', 'report'],
    ['repair', 'keep', 'report'],
    ['keep', 'keep', 'report'],
  ]);
});

test('stored and shown changes end with the return to sync', () => {
  const stored = { notRemovedByPolicy: ['a', 'b'], notUpdatedByPolicy: ['c'] };
  const of = (policy: (typeof WRITE_POLICIES)[number]) => {
    const withheld = withheldIn({ configuration: { policy } }, stored);
    return { withheld, view: policyViewOf({ policy }, withheld).writePolicy };
  };
  expect(of('sync')).toEqual({ withheld: NOTHING_WITHHELD, view: undefined });
  expect(of('create-only').view).toEqual({ name: 'create-only', notRemoved: 2, notUpdated: 1 });
});
