import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { type DaemonProcess, startDaemon } from '../../../demo/daemon.ts';
import { status } from '../../../src/operator/control/status.ts';
import { waitFor } from '../../support/wait-for.ts';
import type { SmallWorld } from './small-world.ts';

/** Starts the daemon, arms a fault that strikes it dead, and waits until it died. */
export async function killAt(
  world: SmallWorld,
  arm: (strike: <Passed>(passed: Passed) => Passed) => void,
): Promise<void> {
  const daemon = start(world);
  arm((passed) => {
    daemon.process.kill('SIGKILL');
    return passed;
  });
  await waitFor(() => daemon.process.signalCode === 'SIGKILL', { what: 'the kill' });
  for (const { proxy } of world.targets) proxy.clear();
}

/** Starts the daemon until the end of the test. */
export function start(world: SmallWorld): DaemonProcess {
  const daemon = startDaemon(world);
  onTestFinished(async () => {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
  });
  return daemon;
}

/** Has cycles follow each other until every target is in sync. */
export async function runUntilInSync(world: SmallWorld, daemons: readonly DaemonProcess[]): Promise<void> {
  const since = Date.now();
  const { installation, queues } = world.open();
  await waitFor(
    async () => {
      if (daemons.some(({ process }) => process.exitCode !== null)) throw new Error('a daemon exited unexpectedly');
      for (const { id } of world.tenants) await queues.pullNow(id);
      const targets = (await status(installation)).tenants.flatMap((tenant) => tenant.targets);
      return targets.every(({ sync, inSyncAsOf }) => sync === 'in-sync' && (inSyncAsOf ?? 0) >= since);
    },
    { what: 'the targets to be in sync', intervalMs: 400 },
  );
}

/** Empties Redis, and restores the connections of the first tenant from a backup. */
export async function loseState(world: SmallWorld, redis: Redis): Promise<void> {
  const { out: backup } = await world.cli('credentials', 'backup', 'clinic-1');
  await redis.flushall();
  const file = join(world.dir, 'clinic-1.backup');
  await writeFile(file, backup);
  expect(await world.cli('credentials', 'restore', 'clinic-1', file)).toMatchObject({ code: 0 });
}
