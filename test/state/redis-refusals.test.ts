import { rm } from 'node:fs/promises';
import { Redis } from 'ioredis';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { asMirrorError } from '../../src/model/errors.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { sendAll } from '../../src/state/script.ts';
import { startRedis } from '../../tools/redis.ts';
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

const FAULTS: readonly [code: string, how: (world: World) => Promise<unknown>][] = [
  ['redis-full', ({ tester }) => tester.config('SET', 'maxmemory', 1)],
  ['redis-read-only', ({ tester }) => tester.replicaof('127.0.0.1', 1)],
  ['redis-no-replicas', ({ tester }) => tester.config('SET', 'min-replicas-to-write', 1)],
  ['redis-snapshot-failed', failSnapshot],
  ['redis-rights', ({ tester }) => tester.call('ACL', 'SETUSER', 'mirror', '-set')],
];

/** Each way in which clinic-mirror writes. */
const WAYS: Readonly<Record<string, (client: World['client']) => Promise<unknown>>> = {
  command: (client) => client.set('cm:key', '1'),
  script: (client) => client.eval(WRITE, 1, 'cm:key', '1'),
  pipeline: (client) => sendAll(client.pipeline().get('cm:key').set('cm:key', '1')),
  transaction: (client) => client.multi().set('cm:key', '1').exec(),
};

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
});
