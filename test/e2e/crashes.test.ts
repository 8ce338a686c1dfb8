import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type DaemonProcess, startDaemon } from '../../demo/daemon.ts';
import { status } from '../../src/control/status.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { BATCHES, callsAt, writesAt } from './support/traffic.ts';
import { expectExact, useSmallWorld } from './support/use-small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

test('four kills in the middle of writing leave no duplicate and no gap', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    appointments: 180,
  });
  const [google, outlook, caldav] = world.targets as [SmallTarget, SmallTarget, SmallTarget];
  // On its way to Google; carried out by Google, then by Outlook, and not yet answered; in the middle of the writes to CalDAV.
  await killAt(world, (strike) =>
    google.proxy.add({ url: BATCHES, fault: { kind: 'rewrite', request: (request) => strike(request) } }),
  );
  await killAt(world, (strike) =>
    google.proxy.add({ url: BATCHES, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );
  await killAt(world, (strike) =>
    outlook.proxy.add({ url: BATCHES, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );
  await killAt(world, (strike) =>
    caldav.proxy.add({ method: /PUT/, after: 3, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );

  await runUntilInSync(world, [start(world)]);

  await expectExact(world);
});

test('after the whole state is lost, restored logins are enough: nothing is written, nothing is doubled', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
  });
  await world.cycle();
  const { out: backup } = await world.cli('credentials', 'backup', 'clinic-1');
  await redis.connect().flushall();
  const file = join(world.dir, 'clinic-1.backup');
  await writeFile(file, backup);
  expect(await world.cli('credentials', 'restore', 'clinic-1', file)).toMatchObject({ code: 0 });
  for (const { proxy } of world.targets) proxy.forget();

  const { targets } = await world.cycle();

  expect(targets.map(({ state }) => state)).toEqual(FAMILIES.map(() => 'in-sync'));
  expect(world.targets.flatMap(({ proxy }) => writesAt(proxy))).toEqual([]);
  await expectExact(world);
});

test('two daemons side by side do no work twice', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, appointments: 90 });
  const { clinicId } = world.tenants[0] as SmallTenant;
  const { proxy } = world.targets[0] as SmallTarget;
  const daemons = [start(world), start(world)];
  await runUntilInSync(world, daemons);
  const [{ records } = { records: 0 }] = await world.compareAll();
  // One creation for each event, and one for the calendar.
  expect(callsAt(proxy).filter((method) => method === 'POST')).toHaveLength(records + 1);

  proxy.forget();
  world.clinic.simulate(clinicId, { booked: 4, moved: 4, cancelled: 2 });
  await runUntilInSync(world, daemons);

  expect(writesAt(proxy)).toHaveLength(10);
  await expectExact(world);
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});

/** Starts the daemon, arms a fault that strikes it dead, and waits until it died. */
async function killAt(world: SmallWorld, arm: (strike: <Passed>(passed: Passed) => Passed) => void): Promise<void> {
  const daemon = start(world);
  arm((passed) => {
    daemon.process.kill('SIGKILL');
    return passed;
  });
  await waitFor(() => daemon.process.signalCode === 'SIGKILL', { what: 'the kill' });
  for (const { proxy } of world.targets) proxy.clear();
}

function start(world: SmallWorld): DaemonProcess {
  const daemon = startDaemon(world);
  onTestFinished(async () => {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
  });
  return daemon;
}

async function runUntilInSync(world: SmallWorld, daemons: readonly DaemonProcess[]): Promise<void> {
  const since = Date.now();
  const { installation, queues } = world.open();
  await waitFor(
    async () => {
      if (daemons.some(({ process }) => process.exitCode !== null)) throw new Error('a daemon ended by itself');
      for (const { id } of world.tenants) await queues.pullNow(id);
      const targets = (await status(installation)).tenants.flatMap((tenant) => tenant.targets);
      return targets.every(({ state, inSyncAsOf }) => state === 'in-sync' && (inSyncAsOf ?? 0) >= since);
    },
    { what: 'the targets to be in sync', intervalMs: 400 },
  );
}
