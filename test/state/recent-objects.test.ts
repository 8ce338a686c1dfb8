import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { createRecentObjects } from '../../src/state/recent-objects.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const REMOVED = { additions: 'bring the X-ray', fingerprint: 'f' };

function open() {
  const sealer = createSealer([{ id: 'k1', key: Buffer.alloc(32, 9) }], 'studio-rossi');
  return createRecentObjects(redis.connect(), 'studio-rossi', sealer);
}

test('created and removed events are read until they are removed or expire', async () => {
  const events = open();
  await events.recordCreated('doctor', ['1', '2'], NOW);
  await events.recordRemoved('doctor', '3', REMOVED, NOW + MINUTE_MS);
  const removed = { at: NOW + MINUTE_MS, removed: REMOVED };
  const all = [...(await events.read('doctor', NOW + HOUR_MS))].sort();
  expect(all).toEqual([
    ['1', { at: NOW }],
    ['2', { at: NOW }],
    ['3', removed],
  ]);
  expect(await events.additionsOf('doctor', '3')).toBe(REMOVED.additions);
  expect(await events.additionsOf('doctor', '1')).toBeNull();
  expect([...(await events.read('doctor', NOW + 3 * HOUR_MS))]).toEqual([['3', removed]]);
  expect((await events.read('doctor', NOW + DAY_MS + HOUR_MS)).size).toBe(0);
  expect((await events.read('nurse', NOW)).size).toBe(0);
  await events.remove('doctor', '3');
  expect((await events.read('doctor', NOW + 3 * HOUR_MS)).size).toBe(0);
});

test('a new creation of a record keeps what users had added to its removed event', async () => {
  const events = open();
  await events.recordRemoved('doctor', '1', REMOVED, NOW);
  await events.recordCreated('doctor', ['1'], NOW + MINUTE_MS);
  expect(await events.additionsOf('doctor', '1')).toBe(REMOVED.additions);
});

test('expired events leave Redis with the next event, and all of them a day after it', async () => {
  const events = open();
  await events.recordCreated('doctor', ['1'], NOW);
  await events.recordCreated('doctor', ['2'], NOW + 3 * HOUR_MS);
  const connection = redis.connect();
  const key = 'cm:{studio-rossi}:recent-objects:doctor';
  expect(await connection.hkeys(key)).toEqual(['2']);
  expect(await connection.pttl(key)).toBeGreaterThan(23 * HOUR_MS);
});

test('a first sync and texts without measure are not stored', async () => {
  const events = open();
  await events.recordCreated(
    'doctor',
    Array.from({ length: 101 }, (_, id) => `${id}`),
    NOW,
  );
  await events.recordRemoved('doctor', 'x', { additions: 'x'.repeat(40_000), fingerprint: 'f' }, NOW);
  expect((await events.read('doctor', NOW)).size).toBe(0);
});

test('an erasure removes the texts of users, and counts them', async () => {
  const events = open();
  await events.recordCreated('doctor', ['1'], NOW);
  await events.recordRemoved('doctor', '2', REMOVED, NOW);
  expect(await events.erase('doctor')).toBe(1);
  expect((await events.read('doctor', NOW)).size).toBe(0);
});
