import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { type Logger, silentLogger } from '../../src/log/logger.ts';
import type { Credential } from '../../src/model/credentials.ts';
import { createCredentialStore } from '../../src/state/credentials.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createAwaitDurable } from '../../src/state/redis.ts';
import { createSealer, type SealingKey } from '../../src/state/sealing.ts';
import { useRedis } from '../support/redis.ts';

const TENANT = 'studio-rossi';
const OLD_KEY: SealingKey = { id: 'k1', key: Buffer.alloc(32, 1) };
const NEW_KEY: SealingKey = { id: 'k2', key: Buffer.alloc(32, 2) };

const redis = useRedis();

function openStore(connection: Redis, ring = [OLD_KEY], tenant = TENANT, log: Logger = silentLogger) {
  return createCredentialStore({
    redis: connection,
    writer: connection,
    awaitDurable: createAwaitDurable(connection, { replicas: null }),
    sealer: createSealer(ring, tenant),
    tenant,
    log,
  });
}

async function takeLease(connection: Redis, tenant = TENANT) {
  const lease = await createLeases(connection, tenant, 10_000).tryTake('credential:clinic');
  if (lease === null) throw new Error('the lease is taken');
  return lease;
}

function credential(changes: Partial<Credential> = {}): Credential {
  return {
    version: 1_000,
    tokens: { accessToken: 'access-canary', refreshToken: 'refresh-canary' },
    grantedScopes: ['openid', 'svc.agenda'],
    obtainedAt: 1_000,
    refreshedAt: null,
    accessExpiresAt: 3_601_000,
    refreshExpiresAt: null,
    state: 'connected',
    reason: null,
    since: 1_000,
    unansweredSince: null,
    ...changes,
  };
}

describe('a stored credential', () => {
  test('reads as it was written', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lease = await takeLease(connection);
    expect(await store.write(lease, 'clinic', null, credential())).toBe(true);
    expect(await store.read('clinic')).toEqual(credential());
    const ended = credential({
      version: 1_001,
      tokens: { accessToken: 'a', refreshToken: null },
      grantedScopes: [],
      refreshedAt: 5,
      accessExpiresAt: null,
      refreshExpiresAt: 9,
      state: 'needs-login',
      reason: 'login-ended',
      unansweredSince: 7,
    });
    expect(await store.write(lease, 'clinic', 1_000, ended)).toBe(true);
    expect(await store.read('clinic')).toEqual(ended);
  });

  test('shows no token in clear in Redis', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    await store.write(await takeLease(connection), 'clinic', null, credential());
    const everything: unknown[] = [];
    for (const key of await connection.keys('*')) {
      everything.push(
        key,
        (await connection.type(key)) === 'hash' ? await connection.hgetall(key) : await connection.get(key),
      );
    }
    expect(everything.length).toBeGreaterThan(2);
    expect(JSON.stringify(everything)).not.toMatch(/canary/);
  });

  test('is unreadable under another connection, tenant or version', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    await store.write(await takeLease(connection), 'clinic', null, credential());
    const fields = await connection.hgetall(`cm:{${TENANT}}:credential:clinic`);
    await connection.hset(`cm:{${TENANT}}:credential:google`, fields);
    await connection.hset('cm:{other}:credential:clinic', fields);
    await expect(store.read('google')).rejects.toMatchObject({ code: 'seal-broken' });
    await expect(openStore(connection, [OLD_KEY], 'other').read('clinic')).rejects.toMatchObject({
      code: 'seal-broken',
    });
    await connection.hset(`cm:{${TENANT}}:credential:clinic`, 'version', '999');
    await expect(store.read('clinic')).rejects.toMatchObject({ code: 'seal-broken' });
  });

  test('is not there before it is written and after it is removed', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    expect(await store.read('clinic')).toBeNull();
    const lease = await takeLease(connection);
    await store.write(lease, 'clinic', null, credential());
    expect(await store.remove('clinic')).toBe(true);
    expect(await store.remove('clinic')).toBe(false);
    expect(await store.read('clinic')).toBeNull();
    expect(await store.write(lease, 'clinic', 1_000, credential({ version: 1_001 }))).toBe(false);
    expect(await store.read('clinic')).toBeNull();
  });
});

describe('writing', () => {
  test('compares the version: the loser of two writers changes nothing', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lease = await takeLease(connection);
    await store.write(lease, 'clinic', null, credential());
    const first = store.write(lease, 'clinic', 1_000, credential({ version: 1_001, reason: 'first' }));
    const second = store.write(lease, 'clinic', 1_000, credential({ version: 1_001, reason: 'second' }));
    expect(await Promise.all([first, second])).toEqual([true, false]);
    expect((await store.read('clinic'))?.reason).toBe('first');
    expect(await store.write(lease, 'clinic', null, credential({ version: 2_000 }))).toBe(false);
    expect(await store.record(lease, 'clinic', 1_000, credential({ reason: 'late' }))).toBe(false);
  });

  test('is refused when the lease is not held any more', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lost = await takeLease(connection);
    await connection.del(lost.key);
    const held = await takeLease(connection);
    await expect(store.write(lost, 'clinic', null, credential())).rejects.toMatchObject({
      actor: 'conflict',
      code: 'lease-lost',
    });
    await store.write(held, 'clinic', null, credential());
    await expect(store.record(lost, 'clinic', 1_000, credential())).rejects.toMatchObject({ code: 'lease-lost' });
    expect(await store.read('clinic')).toEqual(credential());
  });

  test('a note changes where the login stands and nothing else', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lease = await takeLease(connection);
    await store.write(lease, 'clinic', null, credential());
    const note = { state: 'needs-login', reason: 'login-ended', since: 77, unansweredSince: 66 } as const;
    expect(await store.record(lease, 'clinic', 1_000, note)).toBe(true);
    expect(await store.read('clinic')).toEqual(credential(note));
  });

  test('is on the disk when it returns, as far as this Redis can tell', async () => {
    const connection = redis.connect();
    const warnings: string[] = [];
    const log = { ...silentLogger, warn: (_data: object, message: string) => void warnings.push(message) };
    const store = openStore(connection, [OLD_KEY], TENANT, log);
    await store.write(await takeLease(connection), 'clinic', null, credential());
    expect(warnings).toEqual([]);
    await redis.crash();
    await redis.startAgain();
    const info = await redis.connect().info('server');
    const [major = 0, minor = 0] = /redis_version:(\d+)\.(\d+)/.exec(info)?.slice(1).map(Number) ?? [];
    // SIGKILL loses nothing that was handed to the kernel, so this holds with and without WAITAOF.
    expect(await openStore(redis.connect()).read('clinic'), `Redis ${major}.${minor}`).toEqual(credential());
  });

  test('waits for the disk with WAITAOF, says so when the disk is slow, and does without where it is unknown', async () => {
    const connection = redis.connect();
    const warnings: string[] = [];
    const log = { ...silentLogger, warn: (_data: object, message: string) => void warnings.push(message) };
    const store = openStore(connection, [OLD_KEY], TENANT, log);
    const lease = await takeLease(connection);
    const asked = vi.spyOn(connection, 'call');
    asked.mockResolvedValueOnce([1, 0]).mockResolvedValueOnce([0, 0]);
    asked.mockRejectedValueOnce(new Error("ERR unknown command 'WAITAOF', with args beginning with: "));
    await store.write(lease, 'clinic', null, credential());
    expect(asked).toHaveBeenLastCalledWith('WAITAOF', 1, 0, 5_000);
    expect(warnings).toEqual([]);
    await store.write(lease, 'clinic', 1_000, credential({ version: 1_001 }));
    expect(warnings).toEqual(['a credential is stored but not on the disk yet']);
    await store.write(lease, 'clinic', 1_001, credential({ version: 1_002 }));
    await store.write(lease, 'clinic', 1_002, credential({ version: 1_003 }));
    expect(asked).toHaveBeenCalledTimes(3);
    expect(warnings).toHaveLength(1);
  });

  test('says that the store is away, in words of ours, when Redis is', async () => {
    const connection = redis.connect();
    const lease = await takeLease(connection);
    connection.disconnect();
    await expect(openStore(connection).write(lease, 'clinic', null, credential())).rejects.toMatchObject({
      actor: 'remote',
      code: 'redis-failed',
      ambiguous: true,
    });
  });
});

describe('the sealing key', () => {
  test('a credential sealed with an old key is sealed again when it is read', async () => {
    const connection = redis.connect();
    await openStore(connection, [OLD_KEY]).write(await takeLease(connection), 'clinic', null, credential());
    expect(await openStore(connection, [NEW_KEY, OLD_KEY]).read('clinic')).toEqual(credential());
    expect(await openStore(connection, [NEW_KEY]).read('clinic')).toEqual(credential());
    await expect(openStore(connection, [OLD_KEY]).read('clinic')).rejects.toMatchObject({
      actor: 'settings',
      code: 'sealing-key-unknown',
    });
  });
});

describe('a backup', () => {
  test('brings the credentials back after the loss of Redis', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lease = await takeLease(connection);
    const google = credential({
      version: 7,
      grantedScopes: ['calendar'],
      tokens: { accessToken: 'g', refreshToken: null },
    });
    await store.write(lease, 'clinic', null, credential());
    await store.write(lease, 'google', null, google);
    const backup = await store.readAll(['clinic', 'google', 'never-connected']);
    await connection.flushall();
    expect(await store.restore(backup)).toEqual({ restored: ['clinic', 'google'], unchanged: [] });
    expect(await store.read('clinic')).toEqual(credential());
    expect(await store.read('google')).toEqual(google);
  });

  test('replaces nothing that stands: it may be newer', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lease = await takeLease(connection);
    await store.write(lease, 'clinic', null, credential());
    const backup = await store.readAll(['clinic']);
    const newer = credential({ version: 1_001, tokens: { accessToken: 'x', refreshToken: 'y' } });
    await store.write(lease, 'clinic', 1_000, newer);
    expect(await store.restore(backup)).toEqual({ restored: [], unchanged: ['clinic'] });
    expect(await store.read('clinic')).toEqual(newer);
  });
});
