import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FIRST_PACE, NO_CHANGES } from '../../../src/domain/runs.ts';
import { renderSync } from '../../../src/operator/cli/render-sync.ts';
import type { SyncResult } from '../../../src/operator/control/status-schemas.ts';
import { isWhole } from '../../../src/operator/control/sync.ts';
import { expectTidy, names, runs, targets } from './arbitraries.ts';

const syncs = fc.record({ tenant: names, run: runs, targets: fc.array(targets, { maxLength: 4 }) });

test('has at most 100 columns and no control characters for the terminal', () =>
  fc.assert(fc.property(syncs, (result) => expectTidy(renderSync(result)))));

test('restored manual changes are in the column of changed objects', () => {
  const planned = { 'content-changed': 3, 'edited-by-hand': 2, 'removed-by-hand': 1 };
  expect(renderSync(resultOf(planned)).split('\n').at(-1)).toMatch(/^room +in sync +0 +6 +0 /);
});

test('each reason to remove an object is in the column of removed objects', () => {
  const planned = { new: 4, cancelled: 3, excluded: 2, vanished: 1 };
  expect(renderSync(resultOf(planned)).split('\n').at(-1)).toMatch(/^room +in sync +4 +0 +6 /);
});

test('targets that wait for their source are listed, and the sync is incomplete', () => {
  const result = resultOf({});
  expect(isWhole(result)).toBe(true);
  const left = { ...result, run: { ...result.run, awaiting: ['contacts'] } };
  expect(renderSync(left)).toContain('unchanged until their source is read: contacts');
  expect(isWhole(left)).toBe(false);
});

test('changes that wait for approval are shown with the command that lists them', () => {
  const result = resultOf({});
  const held = { ...result, targets: result.targets.map((target) => ({ ...target, held: 926 })) };
  expect(renderSync(result)).not.toContain('holds list');
  expect(renderSync(held)).toContain(`926 changes wait for approval: clinic-mirror holds list ${result.tenant}`);
});

function resultOf(planned: Record<string, number>): SyncResult {
  const none = { held: 0, released: 0, unchanged: 0, confirmed: 0, stillThere: 0, unconfirmed: 0 };
  const counts = { ...none, omitted: {}, unusable: {} };
  return {
    tenant: 'aurora',
    run: {
      id: 'a',
      startedAt: 0,
      finishedAt: 1_000,
      snapshot: { completeness: 'complete', reason: null, records: 10, requests: 1 },
      soon: null,
      pace: FIRST_PACE,
      hourly: NO_CHANGES,
      unusable: {},
      unusableExamples: [],
      unknownStatuses: [],
      withheld: [],
      gaps: {},
      clinic: null,
      read: {},
      crmPlanner: null,
      awaiting: [],
      targets: [{ target: 'room', planned, ...counts }],
      error: null,
    },
    targets: [
      {
        target: 'room',
        connector: 'caldav',
        reason: null,
        connection: 'rossi',
        sync: 'in-sync',
        ...{ firstSync: null, isDriftUnrepaired: false },
        health: 'ok',
        inSyncAsOf: 0,
        checkedAt: 0,
        lastWrittenAt: 0,
        soonAsOf: 0,
        gaps: [],
        exceptGapsAsOf: null,
        outage: null,
        links: 10,
        pending: 0,
        pausedErasures: 0,
        failing: 0,
        held: 0,
        heldSinceAt: null,
        heldRestorations: null,
        oldestPendingAt: null,
        unconfirmed: 0,
        failure: null,
        calendarReplacedAt: null,
        nextTryAt: null,
        policy: 'repair',
        drift: null,
        notifications: { sinceAt: null, untilAt: null, reason: 'not-offered' },
        ...{ created: 0, updated: 0, deleted: 0, adopted: 0 },
        ambiguous: 0,
        dropsMarks: false,
      },
    ],
  };
}
