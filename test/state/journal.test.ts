import { describe, expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { createJournal, journalLine, openPins } from '../../src/state/journal.ts';
import { keys } from '../../src/state/keys.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

const TENANT = 'studio-rossi';

const IDENTITY_KEY = Buffer.alloc(32, 7);

const NOW = Date.parse('2026-06-15T10:00:00Z');

describe('an erasure of records', () => {
  test('deletes lines and pins under current and previous IDs, in each target for its own records', async () => {
    const connection = redis.connect();
    const formerly = { tenant: 'rossi', target: () => 'old-doctor' };
    const journal = createJournal(connection, TENANT, IDENTITY_KEY, { formerly });
    for (const tenant of [TENANT, 'rossi']) {
      const proofs = createProofSealer(IDENTITY_KEY, tenant);
      for (const field of ['doctor\tone', 'old-doctor\tone', 'contacts\tone', 'doctor\ttwo']) {
        const [target = '', recordId = ''] = field.split('\t');
        const place = { run: 'run-1', target, recordId };
        const line = journalLine(proofs, place, { effect: 'deleted', reason: 'vanished', at: NOW });
        await connection.hset(keys.journal(tenant, 'run-1'), field, line);
      }
      await connection.zadd(keys.journals(tenant), NOW, 'run-1');
      const pins = new Map([
        ['one', NOW + 1],
        ['two', NOW + 1],
      ]);
      await openPins(connection, tenant, IDENTITY_KEY).change('old-doctor', () => pins);
    }
    const recordsOf = (target: string) => new Set(target.endsWith('doctor') ? ['one'] : []);
    expect(await journal.erase(recordsOf)).toEqual({ lines: 4, pins: 2 });
    expect((await journal.read('run-1')).map(({ target, recordId }) => `${target} ${recordId}`).sort()).toEqual([
      'contacts one',
      'doctor two',
    ]);
    expect([...(await journal.pinned('doctor', NOW))]).toEqual(['two']);
    expect(await journal.erase(recordsOf)).toEqual({ lines: 0, pins: 0 });
  });
});

test('pins of many targets are found under current and previous IDs', async () => {
  const connection = redis.connect();
  const formerly = { tenant: 'rossi', target: (target: string) => (target === 'doctor' ? 'old-doctor' : undefined) };
  const journal = createJournal(connection, TENANT, IDENTITY_KEY, { formerly });
  const targets = [...Array.from({ length: 150 }, (_, index) => `room-${index}`), 'doctor'];
  const ids = async () => [...(await journal.pinnedByTarget(targets, NOW))].map(([id, pins]) => [id, ...pins]);
  expect(await ids()).toEqual([]);
  await journal.pin('room-3', ['one', 'two'], NOW + 1);
  await journal.pin('room-4', ['one'], NOW);
  await openPins(connection, 'rossi', IDENTITY_KEY).change('old-doctor', () => new Map([['three', NOW + 1]]));
  expect(await ids()).toEqual([
    ['room-3', 'one', 'two'],
    ['doctor', 'three'],
  ]);
  expect((await journal.pinnedByTarget([], NOW)).size).toBe(0);
});

test('lists the runs of the kept period, also while Redis refuses writes', async () => {
  const connection = redis.connect();
  const client = connectRedis(redis.url);
  onTestFinished(() => client.disconnect());
  const journal = createJournal(client, TENANT, IDENTITY_KEY);
  const old = NOW - 1000 * DAY_MS;
  for (const [run, at] of [
    ['run-1', NOW],
    ['run-0', old],
  ] as const) {
    const place = { run, target: 'doctor', recordId: 'one' };
    const line = journalLine(createProofSealer(IDENTITY_KEY, TENANT), place, {
      effect: 'deleted',
      reason: 'vanished',
      at,
    });
    await connection.hset(keys.journal(TENANT, run), 'doctor\tone', line);
    await connection.zadd(keys.journals(TENANT), at, run);
  }
  const runs = async () => (await journal.list(NOW)).map(({ run }) => run);
  await connection.config('SET', 'min-replicas-to-write', 1);
  onTestFinished(async () => void (await connection.config('SET', 'min-replicas-to-write', 0)));
  expect(await runs()).toEqual(['run-1']);
  await connection.config('SET', 'min-replicas-to-write', 0);
  expect(await runs()).toEqual(['run-1']);
  expect(await connection.zrange(keys.journals(TENANT), '0', '-1')).toEqual(['run-1']);
});

describe('the lines of a target in a period', () => {
  async function open() {
    const connection = redis.connect();
    await connection.flushall();
    const proofs = createProofSealer(IDENTITY_KEY, TENANT);
    const span = { startAt: NOW + DAY_MS, endAt: NOW + DAY_MS + 60_000 };
    /** A change of a run that began at the same moment, unless given. */
    const change = async (record: string, at: number, { target = 'doctor', begunAt = at, times = {} } = {}) => {
      const place = { run: `run-${record}`, target, recordId: record };
      const line = journalLine(proofs, place, { effect: 'updated', reason: 'content-changed', at, ...times });
      await connection.hset(keys.journal(TENANT, place.run), `${target}\t${record}`, line);
      await connection.zadd(keys.journals(TENANT), 'NX', begunAt, place.run);
    };
    const journal = createJournal(connection, TENANT, IDENTITY_KEY);
    const between = async (limit = 10) => journal.linesBetween('doctor', { fromAt: NOW, toAt: NOW + DAY_MS }, limit);
    return { connection, change, between, span };
  }

  test('are of this target and period, newest first, also of a run that began before', async () => {
    const { change, between } = await open();
    await change('before', NOW - 1);
    await change('first', NOW, { begunAt: NOW - 3_600_000 });
    await change('last', NOW + DAY_MS - 1);
    await change('after', NOW + DAY_MS);
    await change('other', NOW + 5, { target: 'doctor-2' });
    const { lines, isCut } = await between();
    expect([lines.map(({ recordId, run }) => `${recordId} ${run}`), isCut]).toEqual([
      ['last run-last', 'first run-first'],
      false,
    ]);
    expect(await between(1)).toMatchObject({ lines: [{ recordId: 'last' }], isCut: true });
  });

  test('have the times before and after, encrypted, and none if the line is older', async () => {
    const { connection, change, between, span } = await open();
    await change('old', NOW + 1);
    await change('moved', NOW + 2, { times: { times: { before: span, after: null } } });
    const { lines } = await between();
    expect(lines.map(({ times }) => times)).toEqual([{ before: span, after: null }, null]);
    const stored = JSON.stringify(await connection.hgetall(keys.journal(TENANT, 'run-moved')));
    expect(stored).not.toContain(String(span.startAt / 1_000));
    await connection.hset(keys.journal(TENANT, 'run-moved'), 'doctor\tmoved', 'updated\tnew\t1\tx');
    expect((await between()).lines).toHaveLength(1);
  });
});
