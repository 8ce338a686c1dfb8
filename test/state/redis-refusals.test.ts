import { rm } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { asMirrorError } from '../../src/core/model/errors.ts';
import { render } from '../../src/messages/message.ts';
import type { RedisLocation } from '../../src/settings/redis-schema.ts';
import { connectForWorkers, connectRedis, watchRedis } from '../../src/state/redis.ts';
import { checkRedis } from '../../src/state/redis-check.ts';
import { sendAll } from '../../src/state/script.ts';
import { startRedis } from '../../tools/redis.ts';
import { startDemotedRedis } from '../support/demoted-redis.ts';
import { paced } from '../support/pace.ts';
import { waitFor } from '../support/wait-for.ts';

const WRITE = "return redis.call('SET', KEYS[1], ARGV[1])";

/** Starts a Redis, with a connection of clinic-mirror and a connection of a tester. */
async function open(user = 'default') {
  const server = await startRedis({ server: inject('redisServer') });
  onTestFinished(() => server.crash().then(() => server.stop()));
  const tester = new Redis({ port: server.port });
  tester.on('error', () => {});
  await tester.call('ACL', 'SETUSER', 'mirror', 'on', '>first', '~*', '&*', '+@all');
  const login = user === 'default' ? '' : `${user}:first@`;
  const client = connectRedis(`redis://${login}127.0.0.1:${server.port}`);
  onTestFinished(() => {
    tester.disconnect();
    client.disconnect();
  });
  await client.ping();
  return { tester, client, server };
}

type World = Awaited<ReturnType<typeof open>>;

/** Makes Redis unable to save a snapshot, as a missing permission or a full disk would. */
async function failSnapshot({ tester, server }: World): Promise<void> {
  await tester.config('SET', 'save', '3600 1');
  await rm(server.dir, { recursive: true });
  await tester.bgsave();
  await waitFor(async () => (await tester.info('persistence')).includes('rdb_last_bgsave_status:err'), {
    what: 'the failed snapshot',
  });
}

type Change = (world: World) => Promise<unknown>;

const FAULTS: readonly [code: string, how: Change, end: Change][] = [
  [
    'redis-full',
    ({ tester }) => tester.config('SET', 'maxmemory', 1),
    ({ tester }) => tester.config('SET', 'maxmemory', 0),
  ],
  ['redis-read-only', ({ tester }) => tester.replicaof('127.0.0.1', 1), ({ tester }) => tester.replicaof('NO', 'ONE')],
  [
    'redis-no-replicas',
    ({ tester }) => tester.config('SET', 'min-replicas-to-write', 1),
    ({ tester }) => tester.config('SET', 'min-replicas-to-write', 0),
  ],
  ['redis-snapshot-failed', failSnapshot, ({ tester }) => tester.config('SET', 'stop-writes-on-bgsave-error', 'no')],
  [
    'redis-rights',
    ({ tester }) => tester.call('ACL', 'SETUSER', 'mirror', '-set'),
    ({ tester }) => tester.call('ACL', 'SETUSER', 'mirror', '+set'),
  ],
];

/** Each way in which clinic-mirror writes. */
const WAYS: Readonly<Record<string, (client: World['client']) => Promise<unknown>>> = {
  command: (client) => client.set('cm:key', '1'),
  script: (client) => client.eval(WRITE, 1, 'cm:key', '1'),
  pipeline: (client) => sendAll(client.pipeline().get('cm:key').set('cm:key', '1')),
  transaction: (client) => client.multi().set('cm:key', '1').exec(),
};

const NO_LOGIN = { username: undefined, password: undefined, tls: false };
const NO_SENTINEL_LOGIN = { sentinelUsername: undefined, sentinelPassword: undefined };

describe('a Redis that answers but refuses writes', () => {
  test.each(FAULTS)('is %s for a command, a script, a pipeline and a transaction', async (code, how) => {
    const world = await open('mirror');
    await how(world);
    const codes = await Promise.all(
      Object.values(WAYS).map((write) =>
        write(world.client).then(
          () => 'written',
          (error) => asMirrorError(error).code,
        ),
      ),
    );
    expect(codes).toEqual(Object.keys(WAYS).map(() => code));
  });

  test.each(FAULTS)(
    'is not available while %s, logs it once with the remedy, and is available again afterwards',
    async (code, how, end) => {
      const world = await open('mirror');
      const lines: [level: string, message: string, code: unknown][] = [];
      const note = (level: string) => (data: object, message: string) =>
        void lines.push([level, message, Reflect.get(data, 'code')]);
      const log = { error: note('error'), info: note('info') } as unknown as Logger;
      const watch = watchRedis(world.client, log, { everyMs: 5 });
      onTestFinished(() => watch.stop());
      await how(world);
      await waitFor(() => watch.failure()?.error.code === code, { what: 'the failure' });
      expect(render(watch.failure()?.why ?? '')).toBe(watch.failure()?.error.message);
      expect(watch.failure()?.error.remedy).toMatch(/redis/);
      await end(world);
      await waitFor(() => watch.failure() === null && lines.length > 1, { what: 'the recovery' });
      expect(lines).toEqual([
        ['error', 'Redis refuses commands: no new work starts', code],
        ['info', 'Redis accepts commands again', code],
      ]);
    },
  );

  test('that became a replica is left for the master behind the same address', async () => {
    const world = await open();
    const idOf = async () => Number(await world.client.client('ID'));
    const before = await idOf();
    await world.tester.replicaof('127.0.0.1', 1);
    await expect(world.client.set('cm:key', '1')).rejects.toThrow(/^READONLY/);
    await waitFor(async () => (await idOf()) !== before, { what: 'the new connection' });
  });

  test.each<[kind: string, (port: number) => RedisLocation]>([
    ['single host', (port) => `redis://127.0.0.1:${port}`],
    [
      'group with sentinels',
      (port) => ({ sentinels: [{ host: '127.0.0.1', port }], name: 'mirror', ...NO_LOGIN, ...NO_SENTINEL_LOGIN }),
    ],
    ['cluster', (port) => ({ cluster: [{ host: '127.0.0.1', port }], ...NO_LOGIN })],
  ])(
    'that became a replica is left by each connection of a %s, and writes reach the new master',
    async (_kind, locationOf) => {
      for (const connect of [connectRedis, connectForWorkers]) {
        const server = await startDemotedRedis();
        const client = connect(locationOf(server.port));
        onTestFinished(async () => {
          client.disconnect();
          await server.close();
        });
        expect(await client.set('cm:key', '1')).toBe('OK');
        server.demote();
        await waitFor(
          () =>
            client.set('cm:key', '2').then(
              (answer) => answer === 'OK',
              () => false,
            ),
          {
            what: 'a write to the new master',
          },
        );
        expect(server.refused()).toBeGreaterThan(0);
        expect(await client.set('cm:key', '3')).toBe('OK');
      }
    },
  );

  test('that has another password than before is one fault, named by its code', async () => {
    const world = await open('mirror');
    const watch = watchRedis(world.client, silentLogger, { everyMs: 5 });
    onTestFinished(() => watch.stop());
    await world.tester.call('ACL', 'SETUSER', 'mirror', 'resetpass', '>second');
    await world.tester.call('CLIENT', 'KILL', 'USER', 'mirror');
    await waitFor(() => watch.failure()?.error.code === 'redis-login-refused', { what: 'the failure' });
    const { message } = watch.failure()?.error ?? {};
    // Each command names the fault at once, and none waits for an attempt of the connection.
    const begunAt = performance.now();
    for (let attempt = 0; attempt < 20; attempt += 1) {
      const { code } = await world.client.get('cm:key').then(() => asMirrorError(null), asMirrorError);
      expect(code).toBe('redis-login-refused');
    }
    expect(performance.now() - begunAt).toBeLessThan(paced(1_000));
    await expect(checkRedis(world.client, AbortSignal.timeout(paced(10_000)))).rejects.toMatchObject({
      code: 'redis-login-refused',
      message,
    });
  });
});

test('a database number that Redis lacks is refused by name, and nothing reaches database 0', async () => {
  const server = await startRedis({ server: inject('redisServer') });
  onTestFinished(() => server.crash().then(() => server.stop()));
  const client = connectRedis(`redis://127.0.0.1:${server.port}/99`);
  const tester = new Redis({ port: server.port });
  onTestFinished(() => {
    client.disconnect();
    tester.disconnect();
  });
  const works = [
    () => client.set('a', '1'),
    () => client.eval(WRITE, 1, 'b', '1'),
    () => client.multi().set('c', '1').exec(),
    () => client.pipeline().set('d', '1').exec(),
  ];
  for (let attempt = 0; attempt < 3; attempt += 1) {
    for (const work of works) {
      const failure = await Promise.resolve(work()).then(
        (answer) => (answer as [Error | null, unknown][] | null)?.[0]?.[0] ?? answer,
        (error: unknown) => error,
      );
      const { code, actor } = asMirrorError(failure);
      expect({ code, actor, work: String(work) }).toMatchObject({ code: 'redis-database-missing', actor: 'settings' });
    }
  }
  expect(await tester.dbsize()).toBe(0);
});
