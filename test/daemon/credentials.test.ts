import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import type { Credential } from '../../src/core/model/credentials.ts';
import { createCredentialStore } from '../../src/daemon/credentials.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createAwaitDurable } from '../../src/state/redis.ts';
import { createSealer, type SealingKey } from '../../src/state/sealing.ts';
import { connect, NEVER, openWorker, TENANT, type Worker } from '../oauth/connection.ts';
import { rotatingTokens, startTokenServer } from '../oauth/token-server.ts';
import { useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';

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
  test('has no token that is too long', async () => {
    const connection = redis.connect();
    const store = openStore(connection);
    const lease = await takeLease(connection);
    for (const name of ['accessToken', 'refreshToken']) {
      const tokens = { ...credential().tokens, [name]: 't'.repeat(16_385) };
      const written = store.write(lease, 'clinic', null, credential({ tokens }));
      await expect(written).rejects.toMatchObject({ code: 'value-too-long' });
    }
    expect(await store.read('clinic')).toBeNull();
  });

  test('is read unchanged', async () => {
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
    await expect(store.read('google')).rejects.toMatchObject({ code: 'state-damaged' });
    await expect(openStore(connection, [OLD_KEY], 'other').read('clinic')).rejects.toMatchObject({
      code: 'state-damaged',
    });
    await connection.hset(`cm:{${TENANT}}:credential:clinic`, 'version', '999');
    await expect(store.read('clinic')).rejects.toMatchObject({ code: 'state-damaged' });
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

  test('a note changes the state of the connection and nothing else', async () => {
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

  test('waits for the disk with WAITAOF, reports a slow disk, and skips the wait if the command is unknown', async () => {
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
    expect(warnings).toEqual(['credential is stored but not on the disk yet']);
    await store.write(lease, 'clinic', 1_001, credential({ version: 1_002 }));
    await store.write(lease, 'clinic', 1_002, credential({ version: 1_003 }));
    expect(asked).toHaveBeenCalledTimes(3);
    expect(warnings).toHaveLength(1);
  });

  test('reports an unavailable store with a MirrorError when Redis is unavailable', async () => {
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

describe('the encryption key', () => {
  test('a credential encrypted with an old key is encrypted again when it is read', async () => {
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

const DAY_MS = 86_400_000;

/** A connection in two processes, and the number of reads by the first one. */
async function open() {
  const server = await startTokenServer();
  const rotating = rotatingTokens();
  server.onToken = rotating.onToken;
  const connection = redis.connect();
  const [worker, peer] = [connection, redis.connect()].map((one) => openWorker({ redis: one, issuer: server.url }));
  if (worker === undefined || peer === undefined) throw new Error('two were opened');
  await connect(worker, { accessExpiresAt: Date.now() + DAY_MS });
  const time = useFakeTime();
  const readings = vi.spyOn(connection, 'hgetall');
  const headers = async (times: number) => {
    const given = new Set<string>();
    for (let time = 0; time < times; time += 1) given.add(await worker.authorizer.header(NEVER));
    return [...given];
  };
  return { server, rotating, worker, peer, time, readings, headers };
}

/** As after a disconnection by a user, in any process. */
const logOut = ({ credentials }: Worker) => credentials.remove('clinic');

test('consecutive requests within a second read their credential once', async () => {
  const { headers, readings, time } = await open();
  expect(await headers(17)).toEqual(['Bearer access-0']);
  expect(readings).toHaveBeenCalledTimes(1);
  await time.pass(999);
  await headers(1);
  expect(readings).toHaveBeenCalledTimes(1);
  await time.pass(1);
  await headers(17);
  expect(readings).toHaveBeenCalledTimes(2);
});

test('a credential stored by this process is used by the next request', async () => {
  const { headers, worker } = await open();
  await headers(1);
  await worker.authorizer.renew(NEVER);
  expect(await headers(3)).toEqual(['Bearer access-1']);
  await logOut(worker);
  await expect(headers(1)).rejects.toMatchObject({ code: 'not-connected' });
});

test('a credential stored by another process is used after a second, and at once after a 401, without a refresh here', async () => {
  const { headers, worker, peer, rotating, time } = await open();
  await headers(1);
  await peer.authorizer.renew(NEVER);
  expect(await headers(2)).toEqual(['Bearer access-0']);
  expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-1');
  expect(await headers(2)).toEqual(['Bearer access-1']);
  await logOut(peer);
  await time.pass(1_000);
  await expect(headers(1)).rejects.toMatchObject({ code: 'not-connected' });
  expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
});

test('a missing connection is checked at each request', async () => {
  const { headers, worker, peer } = await open();
  const login = await peer.credentials.read('clinic');
  await logOut(peer);
  await expect(headers(1)).rejects.toMatchObject({ code: 'not-connected' });
  if (login === null) throw new Error('no connection is stored');
  const lease = await peer.place.leases.take('credential:clinic', 1_000, NEVER);
  await peer.credentials.write(lease, 'clinic', null, { ...login, state: 'needs-login', reason: 'login-ended' });
  await expect(headers(1)).rejects.toMatchObject({ code: 'login-ended' });
  await peer.credentials.record(lease, 'clinic', login.version, login);
  expect(await headers(1)).toEqual(['Bearer access-0']);
  expect(await worker.credentials.recent('clinic')).toMatchObject({ state: 'connected' });
});

test('a due refresh uses the current credential, so that a token that a peer has used is never sent', async () => {
  const { server, headers, worker, peer, rotating } = await open();
  await headers(1);
  const { version } = (await worker.credentials.recent('clinic')) ?? { version: 0 };
  await peer.authorizer.renew(NEVER);
  // As a peer's version that this process still uses.
  expect((await worker.refresher.refresh(version)).tokens.accessToken).toBe('access-1');
  expect(server.forms('/token').map((form) => form.get('refresh_token'))).toEqual(['refresh-0']);
  expect(rotating.seen).toEqual({ refreshes: 1, revocations: 0 });
});

test('a pending answer is not stored when the credential changed', async () => {
  const { worker, readings } = await open();
  const before = await redis.connect().hgetall(keys.credential(TENANT, 'clinic'));
  const answered = Promise.withResolvers<Record<string, string>>();
  readings.mockReturnValueOnce(answered.promise);
  const reading = worker.credentials.recent('clinic');
  await logOut(worker);
  answered.resolve(before);
  expect(await reading).not.toBeNull();
  expect(await worker.credentials.recent('clinic')).toBeNull();
});
