import { expect, onTestFinished, test } from 'vitest';
import { type DaemonProcess, startDaemon } from '../../demo/daemon.ts';
import type { Role } from '../../src/operator/control/roles.ts';
import { status } from '../../src/operator/control/status.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallWorld } from './support/small-world.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

test('a job from the scheduler waits for a worker, which completes it without the scheduler', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url });
  const connection = redis.connect();
  const isScheduled = () => connection.exists('{clinic-mirror}:audit:repeat');
  const scheduler = start(world, 'scheduler');
  await waitFor(async () => (await isScheduled()) === 1, { what: 'the schedule' });
  expect(await scheduler.stop()).toBe(0);
  const ranBefore = await lastRun(world);

  const worker = start(world, 'worker');

  await waitFor(() => isInSync(world), { what: 'the targets to be in sync' });
  expect(ranBefore).toEqual([null]);
  await expectExact(world);
  expect(await worker.stop()).toBe(0);
});

function start(world: SmallWorld, role: Role): DaemonProcess {
  const daemon = startDaemon(world, { role });
  onTestFinished(async () => {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
  });
  return daemon;
}

async function lastRun(world: SmallWorld): Promise<unknown[]> {
  return (await status(world.opened().installation)).tenants.map(({ lastRun }) => lastRun);
}

async function isInSync(world: SmallWorld): Promise<boolean> {
  const targets = (await status(world.opened().installation)).tenants.flatMap((tenant) => tenant.targets);
  return targets.every(({ sync }) => sync === 'in-sync');
}
