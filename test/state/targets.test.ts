import { describe, expect, test } from 'vitest';
import type { PlannedChange } from '../../src/model/plan.ts';
import { HOUR_MS } from '../../src/model/time.ts';
import { createRunStore, type RunReport } from '../../src/state/runs.ts';
import { createTargetStore, type TargetRecord } from '../../src/state/targets.ts';
import { useRedis } from '../support/redis.ts';
import { NOW } from '../sync/arbitraries.ts';

const redis = useRedis();
const UNTOUCHED: TargetRecord = {
  container: null,
  adoptedAt: null,
  plannedAsOf: null,
  settledAsOf: null,
  lastPlannedAt: null,
  firstRunApprovedAt: null,
  trouble: null,
  drift: null,
  cursor: null,
  lookedOutsideTo: null,
  readWholeAt: null,
  pausedUntil: null,
  created: 0,
  updated: 0,
  deleted: 0,
  adopted: 0,
  ambiguous: 0,
};

function removals(count: number, from = 0): PlannedChange[] {
  return Array.from({ length: count }, (_, index) => ({
    recordId: `${from + index}`,
    reason: 'vanished',
    wanted: { want: 'absent', startAt: NOW, endAt: NOW },
    fields: [],
  }));
}

describe('what is known of a target', () => {
  test('is nothing at first', async () => {
    expect(await createTargetStore(redis.connect(), 'studio-rossi').read('doctor')).toEqual(UNTOUCHED);
  });

  test('reads as it was written, and null clears a field', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi');
    const trouble = { code: 'login-refused', actor: 'authorization', message: 'm', remedy: null, sinceAt: NOW };
    const fields = {
      container: 'c1',
      adoptedAt: 1,
      plannedAsOf: 2,
      settledAsOf: 3,
      firstRunApprovedAt: 4,
      trouble,
      pausedUntil: 5,
    };
    await targets.write('doctor', fields);
    expect(await targets.read('doctor')).toEqual({ ...UNTOUCHED, ...fields });
    await targets.write('doctor', { container: null, trouble: null });
    expect(await targets.read('doctor')).toEqual({ ...UNTOUCHED, ...fields, container: null, trouble: null });
    expect(await targets.read('nurse')).toEqual(UNTOUCHED);
  });

  test('counts up', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi');
    await targets.count('doctor', { created: 2, updated: 0 });
    await targets.count('doctor', { created: 3, deleted: 1 });
    expect(await targets.read('doctor')).toMatchObject({ created: 5, updated: 0, deleted: 1 });
  });
});

describe('the deletions of the last hour', () => {
  test('are counted by kind, each record once, and pass out of the hour one by one', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi');
    await targets.noteDeletions('doctor', 'vanished', removals(3), NOW);
    await targets.noteDeletions('doctor', 'vanished', removals(2, 2), NOW + HOUR_MS / 2);
    await targets.noteDeletions('doctor', 'cancelled', removals(4), NOW + HOUR_MS / 2);
    expect(await targets.recentDeletions('doctor', NOW + HOUR_MS)).toEqual({ cancelled: 4, vanished: 4 });
    expect(await targets.recentDeletions('doctor', NOW + HOUR_MS + 1)).toEqual({ cancelled: 4, vanished: 2 });
    expect(await targets.recentDeletions('doctor', NOW + 2 * HOUR_MS)).toEqual({ cancelled: 0, vanished: 0 });
  });

  test('do not pile up where something is deleted every hour', async () => {
    const connection = redis.connect();
    const targets = createTargetStore(connection, 'studio-rossi');
    for (let hour = 0; hour < 20; hour += 1) {
      await targets.noteDeletions('doctor', 'vanished', removals(5, hour * 5), NOW + hour * HOUR_MS);
    }
    expect(await connection.zcard('cm:{studio-rossi}:deletions:doctor')).toBeLessThanOrEqual(10);
  });
});

test('of the reports the newest fifty are kept, newest first', async () => {
  const runs = createRunStore(redis.connect(), 'studio-rossi');
  const reportOf = (index: number): RunReport => ({
    id: `${index}`,
    startedAt: NOW + index,
    finishedAt: NOW + index,
    snapshot: null,
    setAside: {},
    setAsideExamples: [],
    unknownStatuses: [],
    withheld: [],
    clinic: null,
    read: {},
    targets: [],
    error: null,
  });
  for (let index = 0; index < 60; index += 1) await runs.add(reportOf(index));
  expect(await runs.list(2)).toEqual([reportOf(59), reportOf(58)]);
  expect(await runs.list(100)).toHaveLength(50);
});
