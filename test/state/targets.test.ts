import { describe, expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { createRunStore, FIRST_PACE, NO_CHANGES, type RunReport } from '../../src/domain/runs.ts';
import type { StoredTarget } from '../../src/engine/store.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const damage = useDamage();
const PROOFS = createProofSealer(Buffer.alloc(32, 7), 'studio-rossi');
const UNTOUCHED: StoredTarget = {
  container: null,
  adoptedAt: null,
  replacedAt: null,
  wentBackAt: null,
  plannedAsOf: null,
  soonAsOf: null,
  idleAsOf: null,
  writtenOnceAt: null,
  lastWrittenAt: null,
  lastPlannedAt: null,
  plannedUnder: null,
  comparableUnder: null,
  firstRunApprovedAt: null,
  unconfirmed: 0,
  failure: null,
  gaps: null,
  drift: null,
  cursor: null,
  outage: null,
  lookedOutsideTo: null,
  readWholeAt: null,
  pausedUntil: null,
  pausedAt: null,
  created: 0,
  updated: 0,
  deleted: 0,
  adopted: 0,
  overtaken: 0,
  ambiguous: 0,
  copies: [],
  notRemovedByPolicy: [],
  notUpdatedByPolicy: [],
  refusedThere: {},
  readBack: null,
};

describe('the record of a target', () => {
  test('is nothing at first', async () => {
    expect(await createTargetStore(redis.connect(), 'studio-rossi', PROOFS).read('doctor')).toEqual(UNTOUCHED);
  });

  test('is read unchanged, and null clears a field', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi', PROOFS);
    const texts = { message: 'm', remedy: null };
    const failure = { code: 'login-refused', actor: 'authorization', ...texts, texts, sinceAt: NOW } as const;
    const fields = {
      container: 'c1',
      adoptedAt: 1,
      plannedAsOf: 2,
      idleAsOf: 3,
      firstRunApprovedAt: 4,
      failure,
      pausedUntil: 5,
    };
    await targets.write('doctor', fields);
    expect(await targets.read('doctor')).toEqual({ ...UNTOUCHED, ...fields });
    await targets.write('doctor', { failure: null });
    expect(await targets.read('doctor')).toEqual({ ...UNTOUCHED, ...fields, failure: null });
    expect(await targets.read('nurse')).toEqual(UNTOUCHED);
  });

  test('counts up', async () => {
    const targets = createTargetStore(redis.connect(), 'studio-rossi', PROOFS);
    await targets.count('doctor', { created: 2, updated: 0 }, NOW);
    await targets.count('doctor', { created: 3, deleted: 1 }, NOW);
    expect(await targets.read('doctor')).toMatchObject({ created: 5, updated: 0, deleted: 1 });
  });
});

describe('a record that differs from the written one', () => {
  test.each([
    ['with plain fields', { container: 'c1', adoptedAt: 1 }],
    ['with another proof', { proof: 'not ours', container: 'c1', adoptedAt: 1 }],
  ])('%s counts as never fetched, and is reported until its calendar is written', async (_, fields) => {
    const connection = redis.connect();
    const targets = createTargetStore(connection, 'studio-rossi', PROOFS);
    await connection.hset('cm:{studio-rossi}:target:doctor', fields);
    expect(await targets.read('doctor')).toEqual(UNTOUCHED);
    expect([...damage]).toEqual(['studio-rossi targets']);
    await targets.write('doctor', { container: 'c2', adoptedAt: null });
    damage.clear();
    expect(await targets.read('doctor')).toMatchObject({ container: 'c2', adoptedAt: null });
    expect([...damage]).toEqual([]);
  });

  test('keeps an approval given meanwhile, without the calendar', async () => {
    const connection = redis.connect();
    const targets = createTargetStore(connection, 'studio-rossi', PROOFS);
    await connection.hset('cm:{studio-rossi}:target:doctor', { proof: 'not ours', container: 'c1', adoptedAt: 1 });
    await targets.write('doctor', { firstRunApprovedAt: NOW });
    expect(await targets.read('doctor')).toMatchObject({ firstRunApprovedAt: NOW, container: null, adoptedAt: null });
  });
});

test('first misses are kept by stream until they are replaced, forgotten for a patient, or old', async () => {
  const connection = redis.connect();
  const targets = createTargetStore(connection, 'studio-rossi', PROOFS);
  await targets.storeMisses('appointments', new Map([['1', NOW]]));
  const misses = new Map([
    ['1', NOW],
    ['2', NOW + 5],
  ]);
  await targets.storeMisses('appointments', misses);
  expect(await targets.misses('appointments')).toEqual(misses);
  expect(await targets.misses('patients')).toEqual(new Map());
  expect(await connection.pttl('cm:{studio-rossi}:misses:appointments')).toBeGreaterThan(6 * DAY_MS);
  expect(await targets.erase('doctor', ['2'], NOW)).toBe(1);
  expect(await targets.misses('appointments')).toEqual(new Map([['1', NOW]]));
  await targets.storeMisses('appointments', new Map());
  expect(await connection.exists('cm:{studio-rossi}:misses:appointments')).toBe(0);
});

test('of the reports the newest fifty are kept, newest first', async () => {
  const runs = createRunStore(redis.connect(), 'studio-rossi', PROOFS);
  const reportOf = (index: number): RunReport => ({
    id: `${index}`,
    startedAt: NOW + index,
    finishedAt: NOW + index,
    snapshot: null,
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
    targets: [],
    error: null,
  });
  for (let index = 0; index < 60; index += 1) await runs.add(reportOf(index));
  expect(await runs.list(2)).toEqual([reportOf(59), reportOf(58)]);
  expect(await runs.list(100)).toHaveLength(50);
});
