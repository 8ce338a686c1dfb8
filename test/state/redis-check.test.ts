import { readFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { createLeases } from '../../src/state/leases.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { checkRedis } from '../../src/state/redis-check.ts';
import { freePort } from '../../tools/free-port.ts';
import { startRedis } from '../../tools/redis.ts';
import { paced } from '../support/pace.ts';
import { DAEMON, refusedCommands, shippedUsers, TESTER, writeUsersFile } from '../support/redis-users.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const BULLMQ = dirname(fileURLToPath(import.meta.resolve('bullmq')));

/** Commands that a connection sends automatically, and commands that no source names. */
const OF_CONNECTIONS = [
  'ASKING',
  'CLIENT|SETINFO',
  'CLIENT|SETNAME',
  'CLUSTER|INFO',
  'CLUSTER|SLOTS',
  'EVALSHA',
  'PING',
];
/** Given to count the memory of tenants. Without it the memory is unknown, so the daemon starts. */
const OPTIONAL = 'MEMORY|USAGE';
/** In BullMQ's scripts by a variable: lists that are pushed to from either side. */
const BY_VARIABLE = ['RPUSH', 'LPUSH'];

async function textsOf(pattern: string, cwd: string): Promise<string> {
  const paths = await Array.fromAsync(glob(pattern, { cwd }));
  return paths.map((path) => readFileSync(join(cwd, path), 'utf8')).join('\n');
}

function allMatches(text: string, pattern: RegExp): Set<string> {
  return new Set([...text.matchAll(pattern)].map(([, name = '', second]) => name.toUpperCase() + (second ?? '')));
}

const shipped = (await shippedUsers()).get(DAEMON.username) ?? '';
const allowed = allMatches(shipped, /\+([a-z|]+)/g);
const sources = await textsOf('src/**/*.ts', ROOT);
const scripts = `${sources}\n${await textsOf('**/scripts/*.js', BULLMQ)}`;
const clients = `${sources}\n${await textsOf('**/classes/{queue*,worker*,job*,scripts,redis-*,ioredis-client}.js', BULLMQ)}`;

describe('the commands that the daemon may give', () => {
  const inScripts = allMatches(scripts, /\b(?:rcall|redis\.p?call)\(\s*['"]([A-Za-z]+)['"]/g);

  test('are all that scripts give, those of BullMQ too', () => {
    expect(inScripts.size).toBeGreaterThan(50);
    expect([...inScripts].filter((name) => !allowed.has(name))).toEqual([]);
  });

  test('are no others than scripts, the program and its connections give', () => {
    const inProgram = allMatches(clients, /\.([a-z]+)\(/g);
    const byName = allMatches(sources, /\.call\('([A-Z]+)'/g);
    const given = new Set([
      ...inScripts,
      ...inProgram,
      ...byName,
      ...OF_CONNECTIONS,
      ...BY_VARIABLE,
      'CONFIG|GET',
      OPTIONAL,
    ]);
    expect([...allowed].filter((name) => !given.has(name))).toEqual([]);
  });
});

test('the check of a Redis user’s permissions contains each of them, except those of connections', () => {
  const source = readFileSync(join(ROOT, 'src/state/redis-check.ts'), 'utf8');
  const samples = /const COMMANDS = `([\s\S]*?)`\n/.exec(source)?.[1] ?? '';
  const asked = allMatches(samples, /(?:^|\|)\s*([a-z]+)/gm);
  const others = new Set([...OF_CONNECTIONS, 'CONFIG|GET', 'MULTI', 'EXEC', OPTIONAL]);
  expect([...allowed].filter((name) => !asked.has(name) && !others.has(name))).toEqual([]);
  expect([...asked].filter((name) => !allowed.has(name))).toEqual([]);
});

describe('the user that we ship', () => {
  test('is enough for a connection to a cluster', async () => {
    const server = inject('redisServer');
    const users = await writeUsersFile(server);
    onTestFinished(() => users.remove());
    const cluster = {
      'cluster-enabled': 'yes',
      'cluster-announce-ip': '127.0.0.1',
      'cluster-port': String(await freePort()),
    };
    const redis = await startRedis({ server, settings: { ...cluster, aclfile: users.file } });
    onTestFinished(() => redis.stop());
    const tester = new Redis({ port: redis.port, ...TESTER });
    onTestFinished(() => tester.disconnect());
    await tester.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
    const client = connectRedis({ cluster: [{ host: '127.0.0.1', port: redis.port }], ...DAEMON, tls: false });
    onTestFinished(() => client.disconnect());

    const lease = await createLeases(client, 'aurora', 10_000).tryTake('plan');

    expect(lease).not.toBeNull();
    await expect(checkRedis(client, AbortSignal.timeout(paced(60_000)))).resolves.toBeUndefined();
    expect(await refusedCommands(tester)).toEqual([]);
  });
});
