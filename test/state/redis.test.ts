import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Writable } from 'node:stream';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, onTestFinished, test, vi } from 'vitest';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { asMirrorError } from '../../src/core/model/errors.ts';
import { render } from '../../src/messages/message.ts';
import type { RedisLocation } from '../../src/settings/redis-schema.ts';
import { keys } from '../../src/state/keys.ts';
import {
  connectForWorkers,
  connectRedis,
  createAwaitDurable,
  type Durability,
  type RedisClient,
  watchRedis,
} from '../../src/state/redis.ts';
import { checkRedis, checkRepeatedly } from '../../src/state/redis-check.ts';
import { createStateCounter } from '../../src/state/state-counter.ts';
import { freePort, onFreePort } from '../../tools/free-port.ts';
import { startGuarded } from '../../tools/guarded-process.ts';
import { type PrivateRedis, startRedis } from '../../tools/redis.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { TESTER } from '../support/redis-users.ts';
import { startSilentProxy } from '../support/silent-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

const NEVER = new AbortController().signal;

describe('a Redis that keeps its data', () => {
  const redis = useRedis();

  test('is accepted', async () => {
    await expect(checkRedis(redis.connect(), NEVER)).resolves.toBeUndefined();
  });

  test.each(['allkeys-lru', 'volatile-ttl'])('is refused while it evicts by %s, with what to do', async (policy) => {
    const connection = redis.connect();
    await connection.config('SET', 'maxmemory-policy', policy);
    await expect(checkRedis(connection, NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'redis-evicts',
      retry: 'never',
      remedy: expect.stringContaining('noeviction'),
    });
    await connection.config('SET', 'maxmemory-policy', 'noeviction');
  });

  test('is checked again while the daemon runs: a replica that takes over may evict', async () => {
    const connection = redis.connect();
    const error = vi.fn();
    const stop = checkRepeatedly(connection, { error } as unknown as Logger, 5);
    onTestFinished(async () => {
      stop();
      await connection.config('SET', 'maxmemory-policy', 'noeviction');
    });
    await connection.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await waitFor(() => error.mock.calls.length > 0, { what: 'the line in the log' });
    expect(error.mock.calls[0]?.[0]).toMatchObject({ code: 'redis-evicts' });
  });

  test('receives the text of a script once per connection, and runs it also after it has forgotten it', async () => {
    const onlooker = redis.connect();
    const ADD = "return redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])";
    const callsOf = async (name: string) =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await onlooker.info('commandstats'))?.[1] ?? 0);
    await onlooker.config('RESETSTAT');
    const connection = connectRedis(redis.url);
    onTestFinished(() => connection.disconnect());
    const add = (by: number) => connection.eval(ADD, 1, 'cm:key', 'field', by);
    expect(await Promise.all([add(1), add(2), add(3)])).toEqual([1, 3, 6]);
    expect([await callsOf('eval'), await callsOf('evalsha')]).toEqual([1, 2]);
    expect(await connection.eval('return ARGV[1]', 0, 'another')).toBe('another');
    await onlooker.script('FLUSH');
    expect(await add(4)).toBe(10);
    expect(await add(5)).toBe(15);
    await expect(connection.eval('return redis.error_reply("FENCED")', 0)).rejects.toThrow('FENCED');
  });

  test('receives the commands of one moment with one call of the system, also after it was away', async () => {
    const connection = connectRedis(redis.url);
    onTestFinished(() => connection.disconnect());
    const writesOf = async (work: () => Promise<unknown>) => {
      const { stream } = connection as unknown as { stream: Writable };
      const spies = [vi.spyOn(stream, '_write'), vi.spyOn(stream, '_writev' as '_write')];
      await work();
      const counts = spies.map(({ mock }) => mock.calls.length);
      for (const spy of spies) spy.mockRestore();
      return counts;
    };
    const increments = () => Promise.all(Array.from({ length: 100 }, () => connection.incr('cm:key')));
    await connection.ping();
    expect(await writesOf(increments)).toEqual([0, 1]);
    expect(await writesOf(() => connection.ping())).toEqual([1, 0]);
    await redis.crash();
    await redis.startAgain();
    await connection.ping();
    expect(await writesOf(increments)).toEqual([0, 1]);
    expect(await connection.get('cm:key')).toBe('200');
  });

  test('is not blamed for settings that it does not show', async () => {
    const connection = redis.connect();
    await connection.acl('SETUSER', 'guest', 'on', '>guest', '~*', '&*', '+@all', '-config');
    await connection.auth('guest', 'guest');
    await expect(connection.config('GET', 'appendonly')).rejects.toThrow(/NOPERM/);
    await expect(checkRedis(connection, NEVER)).resolves.toBeUndefined();
  });

  test('is reached again after it was away, and commands wait for it', async () => {
    const connection = connectRedis(redis.url);
    await connection.set('cm:key', 'value');
    await redis.crash();
    const waiting = connection.ping();
    await redis.startAgain();
    expect(await waiting).toBe('PONG');
    connection.disconnect();
  });

  test('is reported as unreachable by every failure with this meaning', async () => {
    const [ended, away] = [connectRedis(redis.url), new Redis(redis.url, { maxRetriesPerRequest: 0 })];
    away.on('error', () => {});
    await Promise.all([ended.ping(), away.ping()]);
    ended.disconnect();
    await redis.crash();
    const failures = await Promise.all([ended.ping().catch(asMirrorError), away.ping().catch(asMirrorError)]);
    expect(failures).toEqual([0, 1].map(() => expect.objectContaining({ code: 'redis-unreachable', retry: 'later' })));
    away.disconnect();
    await redis.startAgain();
  });
});

describe('a Redis without an append-only file', () => {
  const redis = useRedis({ appendOnly: false });

  test('is refused, with what to do', async () => {
    await expect(checkRedis(redis.connect(), NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'redis-not-durable',
      retry: 'never',
      remedy: expect.stringContaining('appendonly yes'),
    });
  });
});

describe('a Redis that stops answering without closing its connections', () => {
  const redis = useRedis();

  async function open(connect: (url: string) => RedisClient = connectRedis) {
    const proxy = await startSilentProxy(redis.port);
    const client = connect(redis.url.replace(`:${redis.port}`, `:${proxy.port}`));
    onTestFinished(() => client.disconnect());
    await client.set('cm:key', 'value');
    return { proxy, client };
  }

  test.each([
    ['any other', connectRedis],
    ["the workers'", connectForWorkers],
  ])('ends every command over %s connection after ten seconds', async (_, connect) => {
    const { proxy, client } = await open(connect);
    const time = useFakeTime();
    proxy.fallSilent();
    const ended = vi.fn();
    client.get('cm:key').then(ended, ended);
    await time.pass(9_999);
    expect(ended).not.toHaveBeenCalled();
    await time.pass(1);
    expect(ended.mock.calls.map(([error]) => asMirrorError(error).code)).toEqual(['redis-unreachable']);
  });

  test('is reached over another connection as soon as it answers again, although the old one was never closed', async () => {
    const { proxy, client } = await open();
    const time = useFakeTime();
    proxy.fallSilent();
    const answer = client.get('cm:key');
    await time.pass(6_999);
    proxy.speak();
    expect(client.status).toBe('ready');
    await time.pass(1);
    await untilSeen(() => client.status === 'reconnecting', 'the old connection to be dropped');
    await time.pass(100);
    expect(await answer).toBe('value');
    expect(proxy.connections).toBe(2);
  });

  test('does not affect the copies that wait for jobs: BullMQ monitors those', async () => {
    const { proxy, client } = await open(connectForWorkers);
    const copy = (client as Redis).duplicate();
    onTestFinished(() => copy.disconnect());
    await copy.ping();
    const time = useFakeTime();
    proxy.fallSilent();
    const ended = vi.fn();
    copy.bzpopmin('jobs', 60).then(ended, ended);
    await time.pass(30_000);
    expect(ended).not.toHaveBeenCalled();
    expect(copy.status).toBe('ready');
  });

  test('is reported as unreachable, with the time, in at most ten seconds; its loss and its return are logged once each', async () => {
    const { proxy, client } = await open();
    const lines: [level: string, message: string, silentForMs: unknown][] = [];
    const note = (level: string) => (data: object, message: string) =>
      void lines.push([level, message, Reflect.get(data, 'silentForMs')]);
    const WRITES = 2;
    const time = useFakeTime();
    const asked = vi.spyOn(client, 'set');
    const answers = () => asked.mock.settledResults.filter(({ type }) => type === 'fulfilled').length / WRITES;
    const watch = watchRedis(client, { error: note('error'), info: note('info') } as unknown as Logger);
    onTestFinished(() => watch.stop());
    for (let second = 0; second < 20; second += 2) {
      await untilSeen(() => answers() === second / 2 + 1, 'the answer');
      expect(watch.failure()).toBeNull();
      await time.pass(2_000);
    }
    await untilSeen(() => answers() === 11, 'the answer');
    proxy.fallSilent();
    await time.pass(7_000);
    expect(watch.failure()).toBeNull();
    expect(lines).toEqual([]);
    await time.pass(1_000);
    expect(render(watch.failure()?.why ?? '')).toBe('no answer for 8 s');
    await time.pass(30_000);
    expect(watch.failure()).not.toBeNull();
    expect(lines).toEqual([['error', 'Redis does not answer: no new work starts', 8_000]]);
    proxy.speak();
    await untilSeen(async () => {
      await time.pass(500);
      return watch.failure() === null;
    }, 'Redis to be reached again');
    expect(lines.slice(1)).toEqual([['info', 'Redis answers again', expect.any(Number)]]);
    expect(lines[1]?.[2]).toBeGreaterThan(37_000);
    const { length } = asked.mock.calls;
    watch.stop();
    await time.pass(20_000);
    expect(asked.mock.calls).toHaveLength(length);
  });
});

test('a Redis without an answer is awaited until the wait is cancelled, and is then reported as unreachable', async () => {
  const client = connectRedis('redis://127.0.0.1:1');
  const stop = new AbortController();
  const checked = checkRedis(client, stop.signal);
  stop.abort(new Error('enough'));
  await expect(checked).rejects.toMatchObject({ actor: 'remote', code: 'redis-unreachable', retry: 'later' });
  client.disconnect();
});

/** Long enough for any working replica on this host. */
const PATIENCE_MS = 5_000;

/** Maximum wait for a replica that is known not to answer. */
const SHORT_MS = 100;

const redis = useRedis();

let server: PrivateRedis;

let replica: Redis;

let directory: string;

/** Result of a safe write: a Redis older than 7.2 cannot report its disk state. */
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
  // A primary that does not know yet shows the former connection to the next test.
  await part();
  await rm(directory, { recursive: true, force: true });
});

/** Suspends the replica, as behind a cut network, while it still appears connected. */
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

describe.each([null, 1])('a required number of %s replicas for each decision', (replicas) => {
  test('makes a write durable when the connected replica has it', async () => {
    const writer = redis.connect();
    await writer.set('decided', 'yes');
    expect(await createAwaitDurable(writer, { replicas, patienceMs: PATIENCE_MS })('decided')).toBe(safe);
    expect(await replica.get('decided')).toBe('yes');
  });

  test('makes a write late while a connected replica lags, and durable once the replica continues', async () => {
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
  test('causes no wait unless its number is configured', async () => {
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
    expect(await epoch.confirm()).toBe(0);
    await part();
    expect(await openEpoch(replica, 0).check()).toBe(0);
  });

  test('without a decision for which no replica was awaited is known to have gone back', async () => {
    const primary = redis.connect();
    await openEpoch(primary, 1).confirm();
    await part();
    expect(await openEpoch(primary, 0).confirm()).toBe(0);
    const now = Date.now();
    expect(await openEpoch(replica, 0, () => now).check()).toBe(now);
  });

  test('no decision is answered for that it does not have in time, where it must', async () => {
    const primary = redis.connect();
    const call = vi.spyOn(primary, 'call').mockResolvedValueOnce(0);
    const epoch = openEpoch(primary, 1);
    await expect(epoch.confirm()).rejects.toMatchObject({ actor: 'remote', code: 'state-not-durable', retry: 'later' });
    expect(call).toHaveBeenCalledExactlyOnceWith('WAIT', 1, 5_000);
    expect(await epoch.view()).toMatchObject({ durability: 'late' });
    await epoch.confirm();
    expect(await epoch.view()).toMatchObject({ durability: safe });
  });

  test('a decision that it never had, while the wait for it was answered, is known to be lost', async () => {
    const primary = redis.connect();
    // A replica that took over between the write and the wait confirms its own data.
    vi.spyOn(primary, 'call').mockImplementationOnce(async () => {
      await primary.hincrby(keys.epoch(0), 'counter', -1);
      return 1;
    });
    const now = Date.now();
    expect(await openEpoch(primary, 1, () => now).confirm()).toBe(now);
  });
});

describe('a Redis that accepts TLS only', () => {
  /** The only name in the certificate: a server reached by an IP address is not trusted. */
  const HOST = 'localhost';

  const MASTER = 'clinic-mirror';

  const NOBODY = { username: undefined, password: undefined };

  const { certificate, privateKey } = createCertificate(HOST);

  const trusted = getCACertificates('default');

  let tls: Record<string, string> = {};

  beforeAll(async () => {
    const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-tls-'));
    const [certificateFile, keyFile] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')];
    await Promise.all([writeFile(certificateFile, certificate), writeFile(keyFile, privateKey)]);
    tls = {
      ...{ port: '0', 'tls-cert-file': certificateFile, 'tls-key-file': keyFile, 'tls-ca-cert-file': certificateFile },
      ...{ 'tls-auth-clients': 'no', 'tls-replication': 'yes' },
    };
    setDefaultCACertificates([...trusted, certificate]);
    return () => rm(folder, { recursive: true });
  });

  afterAll(() => setDefaultCACertificates(trusted));

  /** A Redis that accepts TLS only. */
  async function startSecure(settings: Record<string, string> = {}): Promise<number> {
    const redis = await onFreePort((port) =>
      startRedis({ port, settings: { ...tls, 'tls-port': String(port), ...settings }, server: inject('redisServer') }),
    );
    onTestFinished(() => redis.stop());
    return redis.port;
  }

  /** A sentinel that accepts TLS only, and returns names rather than IP addresses. */
  async function startSecureSentinel(masterPort: number): Promise<number> {
    return await onFreePort((port) => startSecureSentinelOn(port, masterPort));
  }

  async function startSecureSentinelOn(port: number, masterPort: number): Promise<number> {
    const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-sentinel-'));
    const file = join(folder, 'sentinel.conf');
    const lines = [
      ...Object.entries({ ...tls, 'tls-port': String(port), dir: folder }).map(([name, value]) => `${name} ${value}`),
      ...['sentinel resolve-hostnames yes', 'sentinel announce-hostnames yes'],
      `sentinel monitor ${MASTER} ${HOST} ${masterPort} 1`,
    ];
    await writeFile(file, `${lines.join('\n')}\n`);
    const { process } = await startGuarded({
      ...{ server: inject('redisServer'), args: [file, '--sentinel'], ownFolder: folder },
      ...{ ready: /\+monitor master/, readyTimeoutMs: 15_000 },
    });
    onTestFinished(() => process.stop());
    return port;
  }

  /** A cluster of a single server. */
  async function startSecureCluster(): Promise<number> {
    const port = await startSecure({
      ...{ 'cluster-enabled': 'yes', 'tls-cluster': 'yes', 'cluster-port': String(await freePort()) },
      ...{ 'cluster-announce-hostname': HOST, 'cluster-preferred-endpoint-type': 'hostname' },
    });
    const client = connectRedis(`rediss://${HOST}:${port}`);
    await client.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    const isWhole = async () => String(await client.call('CLUSTER', 'INFO')).includes('cluster_state:ok');
    await waitFor(isWhole, { what: 'the cluster to serve every slot' });
    client.disconnect();
    return port;
  }

  const PLACES: Record<string, () => Promise<RedisLocation>> = {
    'one server': async () => `rediss://${HOST}:${await startSecure()}`,
    'the master that a sentinel knows': async () => {
      const port = await startSecureSentinel(await startSecure());
      const nobody = { ...NOBODY, sentinelUsername: undefined, sentinelPassword: undefined };
      return { ...nobody, sentinels: [{ host: HOST, port }], name: MASTER, tls: true };
    },
    'a cluster': async () => ({ ...NOBODY, cluster: [{ host: HOST, port: await startSecureCluster() }], tls: true }),
  };

  describe.for(Object.entries(PLACES))('%s that accepts TLS only', ([, start]) => {
    test.for([
      ['', connectRedis],
      [' by workers', connectForWorkers],
    ] as const)('is reached by the name in its certificate%s', async ([, connect]) => {
      const client = connect(await start());
      onTestFinished(() => client.disconnect());
      await client.set('key', 'value');
      expect(await client.get('key')).toBe('value');
    });

    test('receives no command while its certificate is not trusted', async () => {
      const place = await start();
      setDefaultCACertificates(trusted);
      onTestFinished(() => setDefaultCACertificates([...trusted, certificate]));
      const client = connectRedis(place);
      onTestFinished(() => client.disconnect());
      const failed = Promise.withResolvers<unknown>();
      client.on('error', failed.resolve);
      client.on('close', () => failed.resolve('closed'));
      client.set('key', 'value').catch(() => {});
      await failed.promise;
      expect(client.status).not.toBe('ready');
    });
  });
});
