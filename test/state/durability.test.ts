import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test, vi } from 'vitest';
import { silentLogger } from '../../src/log/logger.ts';
import { createAwaitDurable, type Durability } from '../../src/state/durability.ts';
import { createStateCounter } from '../../src/state/epoch.ts';
import { keys } from '../../src/state/keys.ts';
import { type PrivateRedis, startRedis } from '../../tools/redis.ts';
import { useRedis } from '../support/redis.ts';
import { TESTER } from '../support/redis-users.ts';
import { waitFor } from '../support/wait-for.ts';

/** Long enough for any replica on this machine that is at work. */
const PATIENCE_MS = 5_000;
/** Nobody waits longer for one that is known not to answer. */
const SHORT_MS = 100;

const redis = useRedis();
let server: PrivateRedis;
let replica: Redis;
let directory: string;
/** What is answered of a safe write: a Redis older than 7.2 can't tell of its disk. */
let safe: Durability;

beforeAll(async () => {
  server = await startRedis({ server: inject('redisServer') });
  replica = new Redis(server.url);
});
afterAll(async () => {
  replica.disconnect();
  await server.stop();
});

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
  const primary = redis.connect();
  // Else it waits five seconds for more replicas.
  await primary.config('SET', 'repl-diskless-sync-delay', '0');
  await replica.config('SET', 'masteruser', TESTER.username, 'masterauth', TESTER.password);
  await replica.replicaof('127.0.0.1', redis.port);
  await waitFor(async () => (await primary.info('replication')).includes('state=online'), { what: 'the replica' });
  const [waitAof] = (await primary.call('COMMAND', 'INFO', 'WAITAOF')) as [unknown];
  safe = waitAof === null ? 'unsupported' : 'durable';
});
afterEach(async () => {
  await replica.replicaof('NO', 'ONE');
  await rm(directory, { recursive: true, force: true });
});

/** Lets the replica stand still, as behind a network that is cut, while it is still taken for connected. */
async function whileItStandsStill(work: () => Promise<void>): Promise<void> {
  const [, pid] = /process_id:(\d+)/.exec(await replica.info('server')) ?? [];
  process.kill(Number(pid), 'SIGSTOP');
  try {
    await work();
  } finally {
    process.kill(Number(pid), 'SIGCONT');
  }
}

/** Parts it from the primary, which knows at once. */
async function part(): Promise<void> {
  await replica.replicaof('NO', 'ONE');
  const primary = redis.connect();
  await waitFor(async () => (await primary.info('replication')).includes('connected_slaves:0'), {
    what: 'the replica to be gone',
  });
}

function openEpoch(client: Redis, replicas: number | null, clock = Date.now) {
  const identityKey = Buffer.alloc(32, 7);
  return createStateCounter({
    redis: client,
    writer: client,
    replicas,
    directory,
    identityKey,
    clock,
    log: silentLogger,
  });
}

describe.each([null, 1])('with %s as the number of replicas that must know a decision', (replicas) => {
  test('it is durable when the replica that is connected has it', async () => {
    const writer = redis.connect();
    await writer.set('decided', 'yes');
    expect(await createAwaitDurable(writer, { replicas, patienceMs: PATIENCE_MS })('decided')).toBe(safe);
    expect(await replica.get('decided')).toBe('yes');
  });

  test('it is late as long as a connected replica lags, and durable once that goes on', async () => {
    const writer = redis.connect();
    await whileItStandsStill(async () => {
      await writer.set('decided', 'yes');
      expect(await createAwaitDurable(writer, { replicas, patienceMs: SHORT_MS })('decided')).toBe('late');
    });
    expect(await createAwaitDurable(writer, { replicas, patienceMs: PATIENCE_MS })('decided')).toBe(safe);
    expect(await replica.get('decided')).toBe('yes');
  });
});

describe('a replica that is gone', () => {
  test('is not waited for unless its number is configured', async () => {
    const writer = redis.connect();
    await part();
    await writer.set('decided', 'yes');
    expect(await createAwaitDurable(writer, { replicas: null, patienceMs: PATIENCE_MS })('decided')).toBe(safe);
    expect(await createAwaitDurable(writer, { replicas: 1, patienceMs: SHORT_MS })('decided')).toBe('late');
  });
});

describe('a replica that takes over', () => {
  test('knows every decision that was answered for', async () => {
    const epoch = openEpoch(redis.connect(), 1);
    expect(await epoch.settle()).toBe(0);
    await part();
    expect(await openEpoch(replica, 0).check()).toBe(0);
  });

  test('and lacks a decision that nobody waited for at replicas is known to have gone back', async () => {
    const primary = redis.connect();
    await openEpoch(primary, 1).settle();
    await part();
    expect(await openEpoch(primary, 0).settle()).toBe(0);
    const now = Date.now();
    expect(await openEpoch(replica, 0, () => now).check()).toBe(now);
  });

  test('no decision is answered for that it does not have in time, where it must', async () => {
    const primary = redis.connect();
    const call = vi.spyOn(primary, 'call').mockResolvedValueOnce(0);
    const epoch = openEpoch(primary, 1);
    await expect(epoch.settle()).rejects.toMatchObject({ actor: 'remote', code: 'state-not-durable', retry: 'later' });
    expect(call).toHaveBeenCalledExactlyOnceWith('WAIT', 1, 5_000);
    expect(await epoch.view()).toMatchObject({ durability: 'late' });
    await epoch.settle();
    expect(await epoch.view()).toMatchObject({ durability: safe });
  });

  test('a decision that it never had, while the wait for it was answered, is known to be lost', async () => {
    const primary = redis.connect();
    // What took over between the write and the wait answers for all that it has.
    vi.spyOn(primary, 'call').mockImplementationOnce(async () => {
      await primary.hincrby(keys.epoch(0), 'counter', -1);
      return 1;
    });
    const now = Date.now();
    expect(await openEpoch(primary, 1, () => now).settle()).toBe(now);
  });
});
