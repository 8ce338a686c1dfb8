import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { connectRedis, type RedisClient } from '../../src/state/redis.ts';
import { checkRedis } from '../../src/state/redis-check.ts';
import { type PrivateRedis, startRedis } from '../../tools/redis.ts';
import { ENV, faultLines, load, SETTINGS, writeConfiguration } from '../settings/configuration-directory.ts';
import { paced } from '../support/pace.ts';
import { isOld, withoutNewer } from '../support/redis-users.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const PASSWORD = 'canary-of-redis';
const HERE = '{ url: "redis://127.0.0.1:6390" }';

const settingsWith = (section: string) => writeConfiguration({ 'clinic-mirror.yaml': SETTINGS.replace(HERE, section) });

describe('a Redis on another host', () => {
  const ONE = '[{ host: redis-1 }]';
  const SECRET = '{ env: CLIENT_SECRET }';

  test.each([
    [
      'without password and TLS',
      '{ url: "redis://redis:6379" }',
      ['redis.url: has no password', 'redis.url: has no TLS'],
    ],
    ['without a password', '{ url: "rediss://mirror@redis:6379" }', ['redis.url: has no password']],
    ['without TLS', '{ url: "redis://:secret@10.0.0.7:6379" }', ['redis.url: has no TLS']],
    [
      'in a private network without a password',
      '{ url: "redis://redis", plaintext: private-network }',
      ['redis.url: has no password'],
    ],
    [
      'of a host name that only begins with localhost',
      '{ url: "redis://:secret@localhost.example" }',
      ['redis.url: has no TLS'],
    ],
    [
      'in a misleading URL',
      '{ url: "redis://127.0.0.1@redis:6379" }',
      ['redis.url: has no password', 'redis.url: has no TLS'],
    ],
    ['of a cluster', `{ cluster: ${ONE} }`, ['redis.password: is missing', 'redis.tls: is missing']],
    [
      'of a cluster with one node on this host',
      '{ cluster: [{ host: 127.0.0.1 }, { host: redis-1 }] }',
      ['redis.password: is missing', 'redis.tls: is missing'],
    ],
    [
      'of sentinels',
      `{ sentinels: ${ONE}, name: m, tls: true, password: ${SECRET} }`,
      ['redis.sentinelPassword: is missing'],
    ],
  ])('is refused %s', (_, section, expected) => {
    const lines = faultLines(settingsWith(section)).map((line) => line.replace(/^clinic-mirror\.yaml:\d+ /, ''));
    expect(lines.map((line, index) => line.slice(0, expected[index]?.length))).toEqual(expected);
    for (const line of lines) expect(line).toContain(' → ');
  });

  test.each([
    ['with both', '{ url: "rediss://mirror:secret@redis:6379" }'],
    [
      'with a password in a network that the operator calls private',
      '{ url: "redis://:secret@redis", plaintext: private-network }',
    ],
    ['of a cluster with both', `{ cluster: ${ONE}, password: ${SECRET}, tls: true }`],
    [
      'of sentinels in a private network',
      `{ sentinels: ${ONE}, name: m, password: ${SECRET}, sentinelPassword: ${SECRET}, plaintext: private-network }`,
    ],
  ])('is accepted %s', (_, section) => {
    expect(() => load(settingsWith(section), { env: ENV })).not.toThrow();
  });

  test.each([
    '{ url: "redis://localhost:6379" }',
    '{ url: "redis://[::1]:6379" }',
    '{ url: /run/redis/redis.sock }',
    '{ sentinels: [{ host: 127.0.0.1 }], name: m }',
  ])('is not assumed for %s', (section) => {
    expect(() => load(settingsWith(section), { env: ENV })).not.toThrow();
  });
});

describe('the Redis users in the shipped files', () => {
  let folder = '';
  let server: PrivateRedis;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-shipped-'));
    const program = inject('redisServer');
    const aclfile = join(folder, 'redis_users');
    const users = await usersAsDocumented(folder);
    await writeFile(aclfile, (await isOld(program)) ? withoutNewer(users) : users);
    server = await startRedis({ server: program, settings: { aclfile } });
  });
  afterAll(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  const as = (username: string, password: string) =>
    opened(new Redis({ port: server.port, host: '127.0.0.1', username, password, enableReadyCheck: false }));

  test('hold the password only as its hash, and refuse sign-in without it', async () => {
    expect(await readFile(join(folder, 'redis_users'), 'utf8')).not.toContain(PASSWORD);
    await expect(as('', '').get('cm:x')).rejects.toThrow('NOAUTH');
    const guessing = as('clinic-mirror', 'guess');
    await expect(guessing.get('cm:x')).rejects.toThrow();
  });

  test('have few enough permissions for the daemon to start', async () => {
    const client = opened(connectRedis(`redis://clinic-mirror:${PASSWORD}@127.0.0.1:${server.port}`));
    await expect(checkRedis(client, AbortSignal.timeout(paced(60_000)))).resolves.toBeUndefined();
  });

  test('allow the health check only a PING', async () => {
    const health = as('health', 'anything');
    expect(await health.ping()).toBe('PONG');
    await expect(health.get('cm:{aurora}:holds')).rejects.toThrow('NOPERM');
  });

  const others = [
    ['FLUSHALL'],
    ['FLUSHDB'],
    ['KEYS', '*'],
    ['CONFIG', 'SET', 'dir', '/tmp'],
    ['CONFIG', 'REWRITE'],
    ['ACL', 'LIST'],
    ['ACL', 'SETUSER', 'default', 'on', 'nopass'],
    ['REPLICAOF', '127.0.0.1', '1'],
    ['MIGRATE', '127.0.0.1', '1', 'cm:x', '0', '10'],
    ['DUMP', 'cm:x'],
    ['RESTORE', 'cm:x', '0', 'x'],
    ['SAVE'],
    ['BGREWRITEAOF'],
    ['SHUTDOWN', 'NOSAVE'],
    ['MODULE', 'LIST'],
    ['FUNCTION', 'LIST'],
    ['SCRIPT', 'FLUSH'],
    ['CLIENT', 'KILL', 'TYPE', 'normal'],
    ['CLIENT', 'LIST'],
    ['PUBLISH', 'cm:x', 'x'],
    ['GET', 'another-program'],
    ['SET', 'another-program', 'x'],
    ['DEL', 'cm'],
    ['EVAL', 'return redis.call("GET", KEYS[1])', '1', 'another-program'],
    ['EVAL', 'return redis.call("FLUSHALL")', '0'],
  ];
  test.each(others.map((given) => [given.join(' '), given] as const))('refuse the daemon: %s', async (_, given) => {
    const [command = '', ...rest] = given;
    await expect(as('clinic-mirror', PASSWORD).call(command, ...rest)).rejects.toThrow(
      /NOPERM|can't run this command|can't access/,
    );
  });
});

test('a Redis that knows the password and also accepts clients without one is refused', async () => {
  const open = await startRedis({ server: inject('redisServer') });
  onTestFinished(() => open.stop());
  const admin = opened(new Redis(open.url));
  await admin.call('ACL', 'SETUSER', 'clinic-mirror', 'on', `>${PASSWORD}`, '~*', '+@all');
  const client = opened(connectRedis(`redis://clinic-mirror:${PASSWORD}@127.0.0.1:${open.port}`));

  await expect(checkRedis(client, AbortSignal.timeout(paced(60_000)))).rejects.toMatchObject({ code: 'redis-open' });

  await admin.call('ACL', 'SETUSER', 'default', 'resetpass', 'off');
  await expect(checkRedis(client, AbortSignal.timeout(paced(60_000)))).resolves.toBeUndefined();
});

/** The file that the command in the documentation makes. */
async function usersAsDocumented(folder: string): Promise<string> {
  const text = await readFile(join(ROOT, 'docs/redis.md'), 'utf8');
  const command = /```sh\s+(awk .*?)```/s.exec(text)?.[1] ?? '';
  const there = command.replace('> secrets/redis_users', '> "$folder/documented"');
  execFileSync('sh', ['-c', there], { cwd: ROOT, env: { ...process.env, password: PASSWORD, folder } });
  return readFile(join(folder, 'documented'), 'utf8');
}

function opened<Client extends RedisClient>(client: Client): Client {
  // The commands report the refusal.
  (client as Redis).on('error', () => {});
  onTestFinished(() => client.disconnect());
  return client;
}
