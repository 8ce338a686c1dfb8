import { expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import { type Daemon, startDaemon } from '../../src/main.ts';
import { status } from '../../src/operator/control/status.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type CrmWorld, startCrmWorld } from './support/crm-world.ts';

const redis = useRedis();
const TENANT = 'clinic-1';
const TARGETS = { calendar: 'doctor-1', contacts: 'rest-crm-contacts', visits: 'rest-crm-visits' };

/** A clinic with a calendar and a CRM; its daemons run a cycle at startup and on request. */
async function useWorld(): Promise<CrmWorld> {
  const world = await startCrmWorld({
    redisUrl: redis.url,
    vendors: ['rest-crm'],
    streams: ['patients', 'appointments'],
    calendars: ['google-calendar'],
    settings: { operator: { port: 0 }, schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 } },
  });
  onTestFinished(() => world.close());
  await world.logIn();
  return world;
}

async function useDaemon(world: CrmWorld): Promise<Daemon> {
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  return daemon;
}

async function targetsIn({ composition }: Daemon) {
  const [tenant] = (await status(composition.installation, TENANT)).tenants;
  return new Map(tenant?.targets.map(({ target, sync, reason }) => [target, { sync, reason }]));
}

const areInSync = async (daemon: Daemon) =>
  [...(await targetsIn(daemon)).values()].every(({ sync }) => sync === 'in-sync');

test('without an answer from the patient registry the calendar is written, and the CRM as soon as the registry answers', async () => {
  const world = await useWorld();
  const answered = Promise.withResolvers<void>();
  onTestFinished(() => answered.resolve());
  world.clinicProxy.add({ url: /\/patients([/?]|$)/, times: 1_000, fault: { kind: 'hold', until: answered.promise } });
  const daemon = await useDaemon(world);
  await waitFor(async () => (await targetsIn(daemon)).get(TARGETS.calendar)?.sync === 'in-sync', {
    what: 'the calendar',
  });
  const targets = await targetsIn(daemon);
  expect([targets.get(TARGETS.contacts), targets.get(TARGETS.visits)]).toMatchObject([
    { reason: 'first-sync' },
    { reason: 'first-sync' },
  ]);
  answered.resolve();
  await waitFor(() => areInSync(daemon), { what: 'the CRM' });
  expect(world.vendors[0]?.records('appointments').length).toBeGreaterThan(0);
});

test('one of two daemons plans the CRM and receives its cycles; when it stops, the other one takes over', async () => {
  const world = await useWorld();
  const first = await useDaemon(world);
  await waitFor(() => areInSync(first), { what: 'the first sync' });
  const second = await useDaemon(world);
  const runs = () => second.composition.installation.tenants.get(TENANT)?.runs.list(1) as Promise<RunReport[]>;
  const cycle = async () => {
    const [before] = await runs();
    await second.composition.queues.pullNow(TENANT);
    await waitFor(async () => (await runs())[0]?.id !== before?.id, { what: 'a cycle' });
    return (await runs())[0];
  };
  const planner = (await runs())[0]?.crmPlanner;
  for (let turn = 0; turn < 8; turn += 1) expect(await cycle()).toMatchObject({ awaiting: [], crmPlanner: planner });
  await first.close();
  await cycle();
  const isTakenOver = async () => (await runs())[0]?.crmPlanner !== planner && (await areInSync(second));
  await waitFor(isTakenOver, { what: 'the other daemon to plan the CRM' });
});
