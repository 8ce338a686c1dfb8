import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDaemon as startProcess } from '../../demo/daemon.ts';
import type { Status } from '../../src/operator/control/status-schemas.ts';
import { keys, QUEUE_PREFIX } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallWorld } from './support/small-world.ts';
import { isExact, logged, retitle, shownEvents, tenantFile, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

/** A separate daemon for two clinics; the file of the second clinic does not exist yet. */
async function open(role = 'all') {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    tenants: 2,
    targets: ['google-calendar'],
    appointments: 30,
  });
  const away = join(world.dir, 'clinic-2.yaml');
  await rename(tenantFile(world, 'clinic-2'), away);
  const daemon = startProcess(world, { role });
  onTestFinished(async () => {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
  });
  await waitFor(() => logged(world, 'daemon started').length > 0, { what: 'the daemon to run' });
  const { operatorPort } = logged(world, 'daemon started')[0] as { operatorPort: number };
  const ask = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${operatorPort}${path}`);
    return { status: answer.status, text: await answer.text() };
  };
  return {
    ...{ world, daemon, away, ask },
    hangUp: () => daemon.process.kill('SIGHUP'),
    async status(): Promise<Status> {
      return JSON.parse((await world.cli('status', '--json')).out) as Status;
    },
  };
}

const shown = (world: SmallWorld, tenant: string) => shownEvents(world, redis.connect(), tenant);

/** Waits until a tenant's calendar shows every appointment of the clinic once, with titles of this level. */
async function follows(world: SmallWorld, tenant: string, title: 'busy' | 'appointment', what: string): Promise<void> {
  const connection = redis.connect();
  const index = world.targets.findIndex((target) => target.tenant === tenant);
  const isSo = async () => {
    const events = await shownEvents(world, connection, tenant);
    // Blocked time is busy under each.
    const areBusy = events.length > 0 && events.every(({ summary }) => summary === 'Busy');
    if (events.length === 0 || areBusy !== (title === 'busy')) return false;
    const comparison = (await world.compareAll())[index];
    return comparison !== undefined && isExact(comparison);
  };
  await waitFor(isSo, { what, intervalMs: 200 });
}

/** Metrics are as old as five seconds. */
function untilRefused(ask: (path: string) => Promise<{ text: string }>, count: number): Promise<unknown> {
  const isSo = async () => (await ask('/metrics')).text.includes(`clinic_mirror_configuration_refused ${count}\n`);
  return waitFor(isSo, { what: `metrics to show ${count} refused files` });
}

test('a running daemon applies its files: a changed, an added, a broken and a removed one', async () => {
  const { world, daemon, away, ask, hangUp, status } = await open();
  await follows(world, 'clinic-1', 'appointment', 'the first sync');
  const idsOf = async () => (await shown(world, 'clinic-1')).map(({ id }) => id).sort();
  const ids = await idsOf();

  // The daemon finds a changed title without a signal.
  await retitle(world, 'clinic-1', 'busy');
  await follows(world, 'clinic-1', 'busy', 'the calendar to match the file');
  expect(await idsOf()).toEqual(ids);
  const counts = { added: 0, changed: 1, reopened: 0, removed: 0, unchanged: 0, refused: 0 };
  expect(logged(world, 'configuration was applied')).toEqual([expect.objectContaining(counts)]);
  expect((await ask('/readyz')).status).toBe(200);

  // Another clinic, by a signal.
  await rename(away, tenantFile(world, 'clinic-2'));
  hangUp();
  await follows(world, 'clinic-2', 'appointment', 'the calendar of the clinic that came');
  expect(logged(world, 'configuration was applied').at(-1)).toMatchObject({ added: 1, changed: 0, unchanged: 1 });

  // A file that is half written.
  const whole = await readFile(tenantFile(world, 'clinic-1'), 'utf8');
  await writeFile(tenantFile(world, 'clinic-1'), whole.slice(0, whole.indexOf('targets:')).concat('targets: {'));
  hangUp();
  await waitFor(async () => (await status()).refused.length > 0, { what: 'status to show the refusal' });
  const { refused, unusable } = await status();
  expect(refused).toMatchObject([{ tenant: 'clinic-1', faults: [{ file: expect.stringContaining('clinic-1.yaml') }] }]);
  expect(unusable).toEqual([]);
  expect((await world.cli('status')).out).toMatch(/clinic-1 {2}CHANGED FILE REFUSED since .*\n.*clinic-1\.yaml, line/);
  await untilRefused(ask, 1);
  expect((await ask('/readyz')).status).toBe(200);
  world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 5, moved: 3, cancelled: 0, checkedIn: 0 });
  await world.opened().queues.pullNow('clinic-1');
  await follows(world, 'clinic-1', 'busy', 'the clinic to continue with its previous configuration');
  expect((await status()).refused).toHaveLength(1);

  await writeFile(tenantFile(world, 'clinic-1'), whole.replace('title: busy', 'title: appointment'));
  hangUp();
  await follows(world, 'clinic-1', 'appointment', 'the corrected file');
  await waitFor(async () => (await status()).refused.length === 0, { what: 'nothing to be refused' });
  await untilRefused(ask, 0);

  // A clinic that goes: its work ends, what it wrote and what is kept of it stays.
  const schedules = () => redis.connect().zrange(`${QUEUE_PREFIX}:pull:repeat`, '0', '-1');
  expect((await schedules()).sort()).toEqual(['pull-clinic-1', 'pull-clinic-2']);
  const written = await shown(world, 'clinic-2');
  await rename(tenantFile(world, 'clinic-2'), away);
  hangUp();
  await waitFor(async () => (await status()).removed.length > 0, { what: 'the removal to be noted' });
  expect((await status()).removed).toMatchObject([{ name: 'clinic-2' }]);
  expect(await schedules()).toEqual(['pull-clinic-1']);
  expect(await shown(world, 'clinic-2')).toEqual(written);
  expect(await redis.connect().exists(keys.credential('clinic-2', 'clinic'))).toBe(1);

  // The tenant returns with all its stored state.
  await rename(away, tenantFile(world, 'clinic-2'));
  hangUp();
  await waitFor(async () => (await status()).removed.length === 0, { what: 'the clinic to be back' });
  await follows(world, 'clinic-2', 'appointment', 'its calendar to be exact');
  expect((await shown(world, 'clinic-2')).map(({ id }) => id)).toEqual(written.map(({ id }) => id));
  expect(await daemon.stop()).toBe(0);
});

test('a temporarily empty folder and invalid settings change nothing', async () => {
  const { world, daemon, hangUp, status, ask } = await open();
  await follows(world, 'clinic-1', 'appointment', 'the first sync');
  const [folder, elsewhere] = [join(world.configDir, 'tenants'), join(world.dir, 'elsewhere')];
  await rename(folder, elsewhere);
  hangUp();
  await waitFor(() => logged(world, 'changed file was refused: the previous configuration stays active').length > 0, {
    what: 'a refusal',
  });
  expect((await status()).refused).toMatchObject([
    { tenant: null, faults: [{ message: 'all tenant files would be removed' }] },
  ]);
  world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 4, moved: 2, cancelled: 0, checkedIn: 0 });
  await world.opened().queues.pullNow('clinic-1');
  await follows(world, 'clinic-1', 'appointment', 'the clinic to continue');
  expect(await redis.connect().hexists(keys.removedTenants(), 'clinic-1')).toBe(0);
  await rename(elsewhere, folder);
  hangUp();
  await waitFor(async () => (await status()).refused.length === 0, { what: 'the folder to be applied' });

  // Removing a client that a clinic uses changes nothing; settings that require a restart are named.
  const settings = join(world.configDir, 'clinic-mirror.yaml');
  const before = await readFile(settings, 'utf8');
  await writeFile(settings, before.replace('googleClients:\n  main:', 'googleClients:\n  other:'));
  hangUp();
  await untilRefused(ask, 1);
  await writeFile(settings, `${before}leases: { ttlMs: 3000 }\n`);
  hangUp();
  await waitFor(async () => (await status()).awaitsRestart.length > 0, { what: 'a setting to wait' });
  expect(await status()).toMatchObject({ refused: [], awaitsRestart: ['leases.ttlMs'] });
  expect((await world.cli('status')).out).toContain('changed settings need a restart of the daemon: leases.ttlMs');
  await rm(elsewhere, { force: true, recursive: true });
  expect(await daemon.stop()).toBe(0);
});

test('every role of a daemon applies file changes independently', async () => {
  const { world, daemon } = await open('scheduler');
  const worker = startProcess(world, { role: 'worker' });
  onTestFinished(() => worker.kill());
  await follows(world, 'clinic-1', 'appointment', 'the first sync');
  await retitle(world, 'clinic-1', 'busy');
  await follows(world, 'clinic-1', 'busy', 'the calendar to match the file');
  await waitFor(() => logged(world, 'configuration was applied').length === 2, {
    what: 'both roles to log the change',
  });
  expect([await daemon.stop(), await worker.stop()]).toEqual([0, 0]);
});
