import { describe, expect, test } from 'vitest';
import type { Link } from '../../src/core/model/operations.ts';
import type { Hold } from '../../src/core/model/plan.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { approvedUnplanned, countDrift, differsByHand } from '../../src/engine/drift.ts';
import type { Engine, EngineTarget } from '../../src/engine/ports.ts';
import type { AuditRules } from '../../src/engine/target.ts';
import { NOW } from '../domain/arbitraries.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTarget } from '../tenant/open-tenant.ts';

const TITLE_CHANGED = { fingerprint: 'aaaaaa.tttdddlllwwwbbb', observedFingerprint: 'bbbbbb.TTTdddlllwwwbbb' };

function targetWith(drift: AuditRules['drift']): EngineTarget {
  const audit = { drift, rewritesPerDay: 2, changesEverySeconds: 300 };
  return openTarget('studio-rossi', { model: createModelTarget(), configuration: { audit } });
}

function linkOf(recordId: string, drift: Link['drift']): Link {
  const times = { startAt: NOW + DAY_MS, endAt: NOW + DAY_MS + HOUR_MS };
  return { recordId, ...times, ...TITLE_CHANGED, versionTag: null, idAttempt: 0, remoteId: null, drift };
}

function holdOf(changes: Partial<Hold>): Hold {
  const times = { createdAt: NOW, decidedAt: NOW, expiresAt: NOW + DAY_MS };
  return {
    ...{ id: 'h1', target: 'doctor', kind: 'manual-changes', state: 'rejected', recordIds: ['removed'], linkCount: 9 },
    ...times,
    ...changes,
  };
}

describe('a target differs by hand', () => {
  const differs = (
    drift: AuditRules['drift'],
    drifted: readonly Link[],
    holds: readonly Hold[] = [],
    notRemoved = '',
  ) => {
    const engine = {
      links: { drifted: async () => drifted },
      holds: { list: async () => holds },
      targetStore: { read: async () => ({ notRemovedByPolicy: [notRemoved], notUpdatedByPolicy: [] }) },
    };
    return differsByHand(engine as unknown as Engine, targetWith(drift));
  };

  test('while an object is edited or removed, unless its policy keeps manual changes', async () => {
    for (const drift of ['edited', 'removed'] as const) {
      expect(await differs('repair', [linkOf('1', drift)])).toBe(true);
      expect(await differs('report', [linkOf('1', drift)])).toBe(true);
      expect(await differs('keep', [linkOf('1', drift)])).toBe(false);
    }
    expect(await differs('repair', [])).toBe(false);
  });

  test('no longer once an operator rejected the restoration of its removed objects', async () => {
    expect(await differs('repair', [linkOf('removed', 'removed')], [holdOf({})])).toBe(false);
    expect(await differs('repair', [linkOf('removed', 'edited')], [holdOf({})])).toBe(true);
    expect(await differs('repair', [linkOf('removed', 'removed')], [holdOf({ state: 'open' })])).toBe(true);
    expect(await differs('repair', [linkOf('removed', 'removed')], [holdOf({ target: 'room' })])).toBe(true);
  });
});

describe('the counts of manual changes', () => {
  const DRIFTED = [linkOf('often', 'edited'), linkOf('once', 'edited'), linkOf('gone', 'removed')];
  const counts = (drift: AuditRules['drift']) => {
    const restorations = new Map([
      ['often', 3],
      ['once', 2],
    ]);
    const engine = { targetStore: { restorations: async () => restorations }, clock: () => NOW };
    return countDrift(engine as unknown as Engine, targetWith(drift), DRIFTED);
  };

  test('name the edited fields, and objects that are restored too often today', async () => {
    expect(await counts('repair')).toEqual({
      ...{ edited: 2, removed: 1, fields: { title: 2 } },
      ...{ churning: 1, churningFields: ['title'] },
    });
  });

  test.each(['keep', 'report'] as const)('contain no restorations under the policy %s', async (drift) => {
    expect(await counts(drift)).toMatchObject({ edited: 2, removed: 1, churning: 0, churningFields: [] });
  });
});

test('approved changes count until a cycle starts after the approval', async () => {
  const approved = holdOf({ state: 'approved', recordIds: ['1', '2'] });
  const others = [holdOf({}), holdOf({ state: 'open' }), { ...approved, target: 'room' }];
  const unplanned = (...startedAt: number[]) =>
    approvedUnplanned({ runs: { list: async () => startedAt.map((at) => ({ startedAt: at })) } }, 'doctor', [
      approved,
      ...others,
    ]);
  expect(await unplanned(NOW - 1)).toBe(2);
  expect(await unplanned(NOW)).toBe(0);
  expect(await unplanned()).toBe(2);
});
