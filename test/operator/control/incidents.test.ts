import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { ErrorTexts } from '../../../src/core/model/errors.ts';
import { problemsWithin } from '../../../src/core/model/problems.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import { pushTarget } from '../../../src/engine/push.ts';
import { createAlertWatch } from '../../../src/features/alerts/alerts.ts';
import type { Digest } from '../../../src/features/alerts/digest.ts';
import { createAlertStore } from '../../../src/features/alerts/store.ts';
import { textOf } from '../../../src/features/alerts/texts.ts';
import { message, type Text } from '../../../src/messages/message.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { incidentsOf, retryHost } from '../../../src/operator/control/incidents.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import { status } from '../../../src/operator/control/status.ts';
import { createLeases } from '../../../src/state/leases.ts';
import type { OpenTarget, OpenTenant } from '../../../src/tenant/tenant.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { type Receiver, startReceiver } from '../../features/reminders/channels/receiver.ts';
import { book as bookReminder, createReminderWorld } from '../../features/reminders/reminder-world.ts';
import { createTriggerWorld, report } from '../../features/triggers/trigger-world.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import {
  areInSync,
  book,
  CLINIC_HOST,
  CLINICS,
  type Clinic,
  HOST,
  type OutageWorld,
  openOutageWorld,
  SIGNALS,
} from '../../tenant/world.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis({ appendOnly: false });
const LOOK_EVERY_MS = 5 * MINUTE_MS;

function installationOf(world: OutageWorld): Installation {
  return openInstallation({ tenants: world.clinics.map(({ tenant }) => tenant) });
}

/** Checks every five minutes for messages to send. */
function openWatch(world: OutageWorld) {
  const installation = installationOf(world);
  const connection = redis.connect();
  const watch = createAlertWatch();
  const told: { atMs: number; digest: Digest }[] = [];
  const channels = new Map([['email', async (digest: Digest) => void told.push({ atMs: world.clock.now, digest })]]);
  const store = createAlertStore({
    redis: connection,
    identityKey: Buffer.alloc(32, 3),
    clock: () => world.clock.now,
  });
  const parts = {
    problems: async () => (await status(installation)).problems,
    ...{ channels, store, leases: createLeases(connection, 'clinic-mirror', 30_000) },
    ...{ clock: () => world.clock.now, log: silentLogger, outageAfterMs: 15 * MINUTE_MS },
  };
  return {
    told,
    async run(forMs: number) {
      for (let passed = 0; passed < forMs; passed += LOOK_EVERY_MS) {
        await world.runUntil(() => false, LOOK_EVERY_MS);
        await watch.check(parts, NEVER);
      }
    },
  };
}

/** A server that is neither a target nor a clinic system. */
const GATEWAY = 'sms.example';
const AWAY = { result: 'later', code: 'connection-failed', retryAfterMs: null } as const;
const incidents = async (tenant: OpenTenant) => (await status(openInstallation({ tenants: [tenant] }))).incidents;

/** A reminder is due in a day. `isAway` says what the gateway does. */
async function reminderWorld(isAway: { now: boolean }) {
  const world = createReminderWorld(redis.connect());
  for (const id of ['one', 'two']) bookReminder(world, id, id === 'one' ? 48 : 49);
  await world.cycle();
  world.gateway.onSend = () => world.outages.heard(GATEWAY, isAway.now ? 'failed' : 'answered');
  return world;
}

/** A report is found, which the receiver does not take. */
async function triggerWorld(): Promise<{ world: ReturnType<typeof createTriggerWorld>; receiver: Receiver }> {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const world = createTriggerWorld(redis.connect(), {
    portal: { url: `${receiver.url}/in`, events: ['report.available'] },
  });
  await world.turn();
  world.documents.reports.set('r1', report('r1'));
  receiver.kit.faults.add({ times: 1_000, fault: { kind: 'status', status: 503 } });
  await world.turn();
  return { world, receiver };
}

test.each(['whole', 'each'] as const)(
  'an outage of 20 clinics is one problem that names the server (%s)',
  async (how) => {
    const world = openOutageWorld(redis, how);
    world.isOut.vendor = true;
    book(world);
    await world.runUntil(() => false, MINUTE_MS);
    const found = await status(installationOf(world));
    const ids = world.clinics.map(({ tenant }) => ({ tenant: tenant.id, waiting: 1 }));
    expect(found.problems).toMatchObject([
      {
        tenant: null,
        subject: `server ${HOST}`,
        code: 'server-away',
        tenants: ids,
        waiting: CLINICS,
        health: 'retrying',
      },
    ]);
    expect(found.problems[0]?.next).toBe(`clinic-mirror retry ${HOST}`);
    const text = renderStatus(found, { problemsOnly: true });
    expect(text.match(new RegExp(HOST, 'g'))).toHaveLength(2);
    expect(text).toContain('20 affected tenants (clinic-0, clinic-1');
    expect(text).toContain('0 action required, 20 retrying');
    expect(renderStatus(await status(installationOf(world), 'clinic-3'))).toContain(HOST);
  },
);

test('an outage of a clinic system is one problem of the affected clinics', async () => {
  const world = openOutageWorld(redis);
  world.isOut.clinic = true;
  await world.runUntil(() => false, MINUTE_MS);
  const { problems } = await status(installationOf(world));
  expect(problems).toMatchObject([{ subject: `server ${CLINIC_HOST}`, code: 'server-away' }]);
  expect(problems[0]?.tenants).toHaveLength(CLINICS);
});

describe('a server', () => {
  const texts = (code: 'connection.certificate-expired' | 'connection.refused', remedy: Text | null) => ({
    message: message('about', { cause: message(code), names: HOST }),
    remedy,
  });
  const ofServer = async (world: OutageWorld) =>
    (await status(installationOf(world))).problems.filter(({ code }) => code === 'server-away');
  /** Has the server fail one more time, for another reason. */
  const fail = (world: OutageWorld, error: { code: string; texts: ErrorTexts }) =>
    world.clinics[0]?.outages.wait(HOST, { tenant: 'clinic-0', target: 'doctor' }, error);

  test('keeps its last cause, with the remedy that only an operator can apply', async () => {
    const world = openOutageWorld(redis, 'whole', 3);
    world.isOut.vendor = true;
    book(world);
    await world.runUntil(() => false, MINUTE_MS);
    const renew = message('certificate-refused.remedy', { code: 'CERT_HAS_EXPIRED' });
    await fail(world, { code: 'connection-failed', texts: texts('connection.certificate-expired', renew) });
    const [expired] = await ofServer(world);
    expect(expired?.sentence).toMatch(/connection-failed, the certificate of the server has expired$/);
    expect(expired?.next).toMatch(/^correct the certificate of the server \(CERT_HAS_EXPIRED\)/);
    await fail(world, { code: 'connection-failed', texts: texts('connection.refused', null) });
    const [refused] = await ofServer(world);
    expect(refused?.sentence).toMatch(/the server refuses the connection$/);
    expect(refused?.next).toBe(`clinic-mirror retry ${HOST}`);
    world.isOut.vendor = false;
    await world.runUntil(() => areInSync(world), 5 * MINUTE_MS);
    expect(await ofServer(world)).toEqual([]);
  });

  test('that fails one clinic only is a problem of this clinic with the cause, while the others succeed', async () => {
    const world = openOutageWorld(redis, 'whole', 2);
    world.isOut.vendor = true;
    book(world);
    await world.runUntil(() => false, MINUTE_MS);
    const [first, second] = world.clinics as [Clinic, Clinic];
    world.isOut.vendor = false;
    await world.runUntil(() => areInSync(world), 5 * MINUTE_MS);
    world.isOut.vendor = true;
    first.clinic.appointments.set('new', appointmentOf('new', { inHours: 30 }));
    await world.runUntil(() => false, 6 * MINUTE_MS);
    await second.outages.end(HOST);
    await pushTarget(first.tenant, first.tenant.targets.get('doctor') as OpenTarget, SIGNALS);
    await world.runUntil(() => false, 5 * SECOND_MS);
    const { problems } = await status(installationOf(world));
    expect(problems).toMatchObject([{ tenant: 'clinic-0', subject: 'target doctor', health: 'retrying' }]);
    expect(problems[0]?.sentence).toContain(HOST);
  });
});

test('a user with access to some clinics sees only those', async () => {
  const world = openOutageWorld(redis, 'whole', 9);
  world.isOut.vendor = true;
  book(world);
  await world.runUntil(() => false, 2 * MINUTE_MS);
  const { problems } = await status(installationOf(world));
  const [seen] = problemsWithin(problems, (tenant) => tenant === 'clinic-7');
  expect(seen).toMatchObject({ tenants: [{ tenant: 'clinic-7', waiting: 1 }], waiting: 1 });
  expect(JSON.stringify(seen)).not.toContain('clinic-8');
  expect(problemsWithin(problems, () => false)).toEqual([]);
});

test('one message reports an outage after 15 minutes, and one its end', async () => {
  const world = openOutageWorld(redis, 'whole', 3);
  const watch = openWatch(world);
  world.isOut.vendor = true;
  book(world);
  const beganAt = world.clock.now;
  await watch.run(30 * MINUTE_MS);
  expect(watch.told).toHaveLength(1);
  const [first] = watch.told as [(typeof watch.told)[number]];
  expect(first.atMs - beganAt).toBeGreaterThanOrEqual(15 * MINUTE_MS);
  expect(first.atMs - beganAt).toBeLessThanOrEqual(15 * MINUTE_MS + LOOK_EVERY_MS);
  expect(first.digest.begun).toMatchObject([{ subject: `server ${HOST}` }]);
  expect(textOf(first.digest, first.atMs, 'en').text).toContain('3 affected clinics');
  world.isOut.vendor = false;
  await watch.run(30 * MINUTE_MS);
  expect(watch.told).toHaveLength(2);
  expect(watch.told[1]?.digest).toMatchObject({ begun: [], over: [{ subject: `server ${HOST}` }] });
});

test('a shorter outage is not reported', async () => {
  const world = openOutageWorld(redis, 'whole', 3);
  const watch = openWatch(world);
  world.isOut.vendor = true;
  book(world);
  await watch.run(10 * MINUTE_MS);
  world.isOut.vendor = false;
  await watch.run(30 * MINUTE_MS);
  expect(watch.told).toEqual([]);
});

test('an operator can retry all work that waits for a server', async () => {
  const clinics = 5;
  const world = openOutageWorld(redis, 'whole', clinics);
  world.isOut.vendor = true;
  book(world);
  await world.runUntil(() => false, 10 * MINUTE_MS);
  const installation = installationOf(world);
  const sinceAt = (await status(installation)).incidents[0]?.sinceAt;
  world.refused = 0;
  const { tenants, targets } = await retryHost(installation, HOST, () => true);
  expect([tenants.length, targets]).toEqual([clinics, clinics]);
  await world.runUntil(() => false, 4 * SECOND_MS);
  expect(world.refused).toBeGreaterThanOrEqual(clinics);
  // It is the same incident.
  expect((await status(installation)).incidents).toMatchObject([{ sinceAt, host: HOST }]);
  world.isOut.vendor = false;
  await retryHost(installation, HOST, () => true);
  expect(await world.runUntil(() => areInSync(world), MINUTE_MS)).toBeLessThanOrEqual(5 * SECOND_MS);
  await expect(retryHost(installation, 'nobody.example', () => true)).rejects.toMatchObject({
    code: 'server-not-away',
  });
});

test('an unreachable reminder gateway is an incident, and its first answer ends the incident', async () => {
  const isAway = { now: true };
  const world = await reminderWorld(isAway);
  world.gateway.answers.push(...Array<typeof AWAY>(1_000).fill(AWAY));
  await world.advance(24 * HOUR_MS + 10 * MINUTE_MS);
  expect(await incidents(world.tenant)).toMatchObject([
    { host: GATEWAY, code: 'connection-failed', tenants: [{ tenant: 'studio-rossi' }], unread: [] },
  ]);
  const { problems } = await status(openInstallation({ tenants: [world.tenant] }));
  expect(problems).toMatchObject([{ code: 'server-away', subject: `server ${GATEWAY}`, health: 'retrying' }]);
  isAway.now = false;
  world.gateway.answers.splice(0);
  await world.advance(30 * SECOND_MS);
  expect(await world.fate()).toBe('sent');
  expect(await incidents(world.tenant)).toEqual([]);
});

test('a gateway that makes one account wait is no incident', async () => {
  const world = await reminderWorld({ now: false });
  world.gateway.onSend = () => world.outages.heard(GATEWAY, 'named-wait');
  world.gateway.answers.push({ result: 'later', code: 'throttled', retryAfterMs: 60_000 });
  await world.advance(24 * HOUR_MS + SECOND_MS);
  expect(await incidents(world.tenant)).toEqual([]);
});

test('reminders that wait for a gateway are sent after an operator’s retry', async () => {
  const isAway = { now: true };
  const world = await reminderWorld(isAway);
  world.gateway.answers.push(...Array<typeof AWAY>(1_000).fill(AWAY));
  await world.advance(24 * HOUR_MS + MINUTE_MS);
  const calls = world.gateway.calls.length;
  await retryHost(openInstallation({ tenants: [world.tenant] }), GATEWAY, () => true);
  await world.advance(3 * SECOND_MS);
  expect(world.gateway.calls.length).toBeGreaterThan(calls);
});

test('a gateway without waiting reminders is no incident', async () => {
  const world = await reminderWorld({ now: true });
  world.gateway.answers.push(...Array<typeof AWAY>(1_000).fill(AWAY));
  await world.advance(24 * HOUR_MS + MINUTE_MS);
  world.clinic.appointments.clear();
  for (let passes = 0; passes < 3; passes += 1) {
    await world.cycle();
    await world.advance(10 * MINUTE_MS);
  }
  expect(await incidents(world.tenant)).toEqual([]);
});

test('an unreachable trigger receiver is an incident, retried every ten seconds, and its first answer ends the incident', async () => {
  const { world, receiver } = await triggerWorld();
  await world.advance(20 * MINUTE_MS);
  const host = new URL(receiver.url).host;
  expect(await incidents(world.open())).toMatchObject([
    { host, code: 'webhook-unavailable', tenants: [{ tenant: 'studio-rossi' }] },
  ]);
  receiver.kit.faults.clear();
  await world.advance(15 * SECOND_MS);
  expect(receiver.taken).toHaveLength(1);
  expect(await incidents(world.open())).toEqual([]);
});

test('a paused receiver is retried at once after an operator’s retry', async () => {
  const { world, receiver } = await triggerWorld();
  const host = new URL(receiver.url).host;
  world.wakes.length = 0;
  receiver.kit.faults.clear();
  const installation = openInstallation({ tenants: [world.open()] });
  expect(await retryHost(installation, host, () => true)).toEqual({ host, tenants: ['studio-rossi'], targets: 0 });
  await world.advance(3 * SECOND_MS);
  expect(receiver.taken).toHaveLength(1);
});

test('a permanently failed receiver is no unreachable server', async () => {
  const { world } = await triggerWorld();
  expect(await incidents(world.open())).toHaveLength(1);
  await world.open().triggers?.store.close('portal', { code: 'webhook-gone', at: world.now });
  const { tenants } = await status(openInstallation({ tenants: [world.open()] }));
  expect(incidentsOf(await world.outages.list(), tenants, world.now)).toEqual([]);
});
