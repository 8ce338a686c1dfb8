import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { TESTER } from '../support/redis-users.ts';
import { copyState, goBackTo } from '../support/stored-state.ts';
import { tabled } from './support/agreement.ts';
import { TENANT, useWatchedDaemon, type WatchedDaemon } from './support/watched-daemon.ts';

const redis = useRedis();

/** Redis goes back to before an opt-out; keys of the lost time are gone. */
async function goBack({ daemon }: WatchedDaemon, lostKeys: readonly string[] = []): Promise<void> {
  const tester = new Redis({ port: redis.port, ...TESTER });
  onTestFinished(() => tester.disconnect());
  const before = (await copyState(tester)).filter(({ key }) => !lostKeys.includes(String(key)));
  const { protection } = daemon.composition.composed.get(TENANT)!.tenant;
  await protection.store({ table: 'optOuts', name: 'somebody', value: '{}' });
  await goBackTo(tester, before);
}

async function untilStopped({ until, world }: WatchedDaemon): Promise<void> {
  const told = await until(['state-went-back']);
  expect([told['status --json'].health, told['status --json'].result, told['/readyz'].result]).toEqual([
    ...['action-required', 1, 503],
  ]);
  const { out } = await world.cli('status');
  expect(out).toContain('restore a backup');
  expect(out).not.toContain('clinic-mirror login');
}

test('a Redis that went back, without a data directory, is one problem on every surface until an operator accepts it', async () => {
  const watched = await useWatchedDaemon(redis.url, { usesDirectory: false });
  await watched.until([]);
  await goBack(watched);
  await untilStopped(watched);
  expect(await watched.world.cli('accept-loss', TENANT)).toMatchObject({ code: 0 });
  await watched.until([]);
});

test('a Redis that went back to before the logins is one problem on every surface until a backup is restored', async () => {
  const watched = await useWatchedDaemon(redis.url);
  const { world, until } = watched;
  await until([]);
  const { out: backup } = await world.cli('credentials', 'backup', TENANT);
  const file = join(world.dir, 'clinic-1.backup');
  await writeFile(file, backup);
  await goBack(
    watched,
    ['clinic', 'doctor-1'].map((connection) => keys.credential(TENANT, connection)),
  );
  await untilStopped(watched);
  expect.soft(await watched.told()).toEqual(tabled('state-went-back'));
  expect(await world.cli('credentials', 'restore', TENANT, file)).toMatchObject({ code: 0 });
  await until([]);
});
