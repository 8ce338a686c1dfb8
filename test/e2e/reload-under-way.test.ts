import { rm } from 'node:fs/promises';
import { Queue } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { type Daemon, startDaemon } from '../../src/main.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallWorld } from './support/small-world.ts';
import { isExact, retitle, shownEvents, tenantFile, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

/** A daemon in this process whose first cycle or writing is held up until `release`. */
async function open(hold: (world: SmallWorld, until: Promise<void>) => void) {
  await redis.connect().flushall();
  const world = await useSmallWorld({
    redisUrl: redis.url,
    tenants: 2,
    targets: ['google-calendar'],
    appointments: 200,
    target: { title: 'busy' },
    settings: { operator: { port: 0 }, schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 } },
  });
  const held = Promise.withResolvers<void>();
  hold(world, held.promise);
  const { configDir: dir, env } = world;
  const files = new ConfigurationFiles({ dir, env, connectors, reminderChannels, mode: 'set-aside' });
  const daemon = await startDaemon(files.configuration, silentLogger, new AbortController().signal, { files });
  onTestFinished(async () => {
    held.resolve();
    await daemon.close();
  });
  return { world, daemon, release: held.resolve, connection: redis.connect() };
}

/** Reloads the files, and waits until the new configuration is active in all processes. */
async function reload({ composition, reload: ask }: Daemon, tenant: string): Promise<void> {
  const before = composition.configVersions.get(tenant);
  ask();
  const after = await waitFor(
    () => {
      const now = composition.configVersions.get(tenant);
      return now !== before && now;
    },
    { what: 'the changed file to be applied' },
  );
  await waitFor(async () => (await after.newest()).isOurs, { what: 'it to count' });
}

const clinicOf = ({ tenants }: SmallWorld) => new RegExp(`/${tenants[0]?.clinicId}/`);

/** Titles that were sent to the first clinic's calendar. */
const sentTitles = ({ targets }: SmallWorld) =>
  (targets[0]?.proxy.requests ?? []).flatMap(({ body }) =>
    [...body.matchAll(/"summary":"([^"]+)"/g)].map(([, title]) => title),
  );

test('a cycle that is running when its tenant changes writes nothing', async () => {
  const { world, daemon, release, connection } = await open((all, until) =>
    all.clinicProxy.add({ url: /appointments/, times: 1_000, fault: { kind: 'hold', until } }),
  );
  const isReading = () =>
    world.clinicProxy.requests.some(({ url }) => /appointments/.test(url) && clinicOf(world).test(url));
  await waitFor(isReading, { what: 'a cycle to read' });
  const unchanged = daemon.composition.composed.get('clinic-2');
  await retitle(world, 'clinic-1', 'appointment');
  await reload(daemon, 'clinic-1');
  expect(daemon.composition.composed.get('clinic-2')).toBe(unchanged);
  release();
  await waitFor(async () => (await world.compareAll()).every(isExact), { what: 'both calendars', intervalMs: 100 });
  const titles = (await shownEvents(world, connection, 'clinic-1')).map(({ summary }) => summary);
  expect(titles).toContain('Appointment');
  // Blocked time is busy under each, and so few of them were ever sent.
  const isBlocked = (title: string | undefined) => title === 'Busy';
  expect(sentTitles(world).filter(isBlocked)).toHaveLength(titles.filter(isBlocked).length);
  expect((await shownEvents(world, connection, 'clinic-2')).every(({ summary }) => summary === 'Busy')).toBe(true);
});

/** Requests to the first clinic's calendar that write entries under the old title. */
function oldWrites({ targets }: SmallWorld): string[] {
  const requests = targets[0]?.proxy.requests ?? [];
  return requests.flatMap(({ body }) => (/"summary":"Busy"/.test(body) ? [body] : []));
}

const holdWrites = (all: SmallWorld, until: Promise<void>) =>
  all.targets[0]?.proxy.add({ method: /POST/, body: /summary":"Busy/, times: 1_000, fault: { kind: 'hold', until } });

test('a write in transit when its tenant changes is the last of the old configuration, without a duplicate', async () => {
  const { world, daemon, release, connection } = await open(holdWrites);
  await waitFor(() => oldWrites(world).length > 0, { what: 'a write to be on its way' });
  await retitle(world, 'clinic-1', 'appointment');
  await reload(daemon, 'clinic-1');
  const onTheirWay = oldWrites(world);
  release();
  const isNew = async () => {
    const events = await shownEvents(world, connection, 'clinic-1');
    return events.some(({ summary }) => summary === 'Appointment') && (await world.compareAll()).every(isExact);
  };
  await waitFor(isNew, { what: 'the calendar to be as the new file says', intervalMs: 100 });
  const events = await shownEvents(world, connection, 'clinic-1');
  const blocked = events.filter(({ summary }) => summary === 'Busy').length;
  const later = oldWrites(world).filter((body) => !onTheirWay.includes(body));
  expect(later.flatMap((body) => body.match(/"summary":"Busy"/g) ?? []).length).toBeLessThanOrEqual(blocked);
});

test('a write in transit when its tenant is removed is the last', async () => {
  const { world, daemon, release, connection } = await open(holdWrites);
  await waitFor(() => oldWrites(world).length > 0, { what: 'a write to be on its way' });
  const [first] = [oldWrites(world).length];
  const leases = createLeases(connection, 'clinic-1', 60_000);
  await rm(tenantFile(world, 'clinic-1'));
  daemon.reload();
  // Free for others: the lane has lost it.
  await waitFor(() => leases.tryTake('lane-doctor-1'), { what: "the lane's lease to be taken away" });
  release();
  const queue = new Queue('push', { connection, prefix: QUEUE_PREFIX });
  onTestFinished(() => queue.close());
  const isAtRest = async () => {
    const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active');
    return wait + active === 0 && isExact((await world.compareAll())[1] ?? { duplicates: 1, missing: 1 });
  };
  await waitFor(isAtRest, { what: 'every lane to be at rest', intervalMs: 100 });
  expect(oldWrites(world)).toHaveLength(first);
});
