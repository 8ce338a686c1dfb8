import { expect, onTestFinished, test } from 'vitest';
import { incidentsOf, retryHost } from '../../src/control/incidents.ts';
import { status } from '../../src/control/status.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/model/time.ts';
import { type Receiver, startReceiver } from '../features/reminders/channels/receiver.ts';
import { book, createReminderWorld } from '../features/reminders/reminder-world.ts';
import { createTriggerWorld, report } from '../features/triggers/trigger-world.ts';
import { useRedis } from '../support/redis.ts';
import { openInstallation } from './open-installation.ts';

/* Servers that neither targets nor clinic systems are: a gateway of reminders, a receiver of triggers. */

const redis = useRedis();
const GATEWAY = 'sms.example';
const AWAY = { result: 'later', code: 'connection-failed', retryAfterMs: null } as const;

const incidents = async (tenant: OpenTenant) => (await status(openInstallation({ tenants: [tenant] }))).incidents;

/** A reminder is due in a day. `isAway` says what the gateway does. */
async function reminderWorld(isAway: { now: boolean }) {
  const world = createReminderWorld(redis.connect());
  for (const id of ['one', 'two']) book(world, id, id === 'one' ? 48 : 49);
  await world.cycle();
  world.gateway.onSend = () => world.outages.heard(GATEWAY, isAway.now ? 'failed' : 'answered');
  return world;
}

test('a gateway of reminders that is away is an incident, and it ends with its first answer', async () => {
  const isAway = { now: true };
  const world = await reminderWorld(isAway);
  world.gateway.answers.push(...Array<typeof AWAY>(1_000).fill(AWAY));
  await world.advance(24 * HOUR_MS + 10 * MINUTE_MS);
  expect(await incidents(world.tenant)).toMatchObject([
    { host: GATEWAY, code: 'connection-failed', clinics: [{ tenant: 'studio-rossi' }], unread: [] },
  ]);
  const { problems } = await status(openInstallation({ tenants: [world.tenant] }));
  expect(problems).toMatchObject([{ code: 'server-away', subject: `server ${GATEWAY}`, needs: 'time' }]);
  isAway.now = false;
  world.gateway.answers.splice(0);
  await world.advance(30 * SECOND_MS);
  expect(await world.fate()).toBe('sent');
  expect(await incidents(world.tenant)).toEqual([]);
});

test('a gateway that asks one account to wait is no incident', async () => {
  const world = await reminderWorld({ now: false });
  world.gateway.onSend = () => world.outages.heard(GATEWAY, 'named-wait');
  world.gateway.answers.push({ result: 'later', code: 'throttled', retryAfterMs: 60_000 });
  await world.advance(24 * HOUR_MS + SECOND_MS);
  expect(await incidents(world.tenant)).toEqual([]);
});

test('reminders that wait for a gateway are handed over when somebody has it tried', async () => {
  const isAway = { now: true };
  const world = await reminderWorld(isAway);
  world.gateway.answers.push(...Array<typeof AWAY>(1_000).fill(AWAY));
  await world.advance(24 * HOUR_MS + MINUTE_MS);
  const calls = world.gateway.calls.length;
  await retryHost(openInstallation({ tenants: [world.tenant] }), GATEWAY, () => true);
  await world.advance(3 * SECOND_MS);
  expect(world.gateway.calls.length).toBeGreaterThan(calls);
});

test('a gateway that no reminder waits for any more is no incident', async () => {
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

test('a receiver of triggers that is away is an incident, tried every ten seconds, that ends with its first answer', async () => {
  const { world, receiver } = await triggerWorld();
  await world.advance(20 * MINUTE_MS);
  const host = new URL(receiver.url).host;
  expect(await incidents(world.open())).toMatchObject([
    { host, code: 'webhook-unavailable', clinics: [{ tenant: 'studio-rossi' }] },
  ]);
  receiver.kit.faults.clear();
  await world.advance(15 * SECOND_MS);
  expect(receiver.taken).toHaveLength(1);
  expect(await incidents(world.open())).toEqual([]);
});

test('a receiver that rests is tried at once when somebody has its server tried', async () => {
  const { world, receiver } = await triggerWorld();
  const host = new URL(receiver.url).host;
  world.wakes.length = 0;
  receiver.kit.faults.clear();
  const installation = openInstallation({ tenants: [world.open()] });
  expect(await retryHost(installation, host, () => true)).toEqual({ host, clinics: ['studio-rossi'], targets: 0 });
  await world.advance(3 * SECOND_MS);
  expect(receiver.taken).toHaveLength(1);
});

test('a receiver that is gone for good is no server that is away', async () => {
  const { world } = await triggerWorld();
  expect(await incidents(world.open())).toHaveLength(1);
  await world.open().triggers?.store.close('portal', { code: 'webhook-gone', at: world.now });
  const { tenants } = await status(openInstallation({ tenants: [world.open()] }));
  expect(incidentsOf(await world.outages.list(), tenants, world.now)).toEqual([]);
});
