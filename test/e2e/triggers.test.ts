import { Webhook } from 'standardwebhooks';
import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import type { TriggerEvent } from '../../src/core/model/triggers.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { type Daemon, startDaemon } from '../../src/main.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { type SmallWorld, startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const SECRETS = [5, 6].map((byte) => `whsec_${Buffer.alloc(32, byte).toString('base64')}`);
const SCOPES = ['openid', 'offline_access', 'svc.agenda', 'svc.invoices'];

async function startWorld(): Promise<{ world: SmallWorld; receiver: Receiver }> {
  const receiver = await startReceiver();
  onTestFinished(() => receiver.close());
  const events = ['report.available', 'invoice.issued', 'appointment.cancelled'];
  const secrets = [{ env: 'TENANT_CLINIC_1__NEW' }, { env: 'TENANT_CLINIC_1__OLD' }];
  const endpoint = { url: `${receiver.url}/in`, secrets, events };
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 80,
    triggers: { endpoints: { portal: endpoint } },
  });
  onTestFinished(() => world.close());
  Object.assign(world.env, { TENANT_CLINIC_1__OLD: SECRETS[0], TENANT_CLINIC_1__NEW: SECRETS[1] });
  return { world, receiver };
}

async function startOne(world: SmallWorld): Promise<Daemon> {
  const { configDir: dir, env } = world;
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'strict' });
  const daemon = await startDaemon(configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  return daemon;
}

const triggersOf = (daemon: Daemon) => {
  const triggers = daemon.composition.installation.tenants.get('clinic-1')?.triggers;
  if (triggers == null) throw new Error('no triggers');
  return triggers;
};

/** Has the lists read and waits for the end of that. Of two readings the first may have begun before now. */
async function read(daemon: Daemon, event: TriggerEvent): Promise<void> {
  const { store, wake } = triggersOf(daemon);
  const place = { endpoint: 'portal', event };
  for (const what of ['the lists to be read', 'the lists to be read once more']) {
    const before = (await store.reading(place)).readAt;
    await wake(0, { read: true });
    await waitFor(async () => (await store.reading(place)).readAt !== before, { what });
  }
  await waitFor(async () => (await store.waitingCount(place)) === 0, { what: 'the messages to be accepted' });
}

test('two daemons send a report and an invoice once, signed by both secrets, and no earlier ones', async () => {
  const { world, receiver } = await startWorld();
  const { clinicId = '' } = world.tenants[0] ?? {};
  await world.logIn();
  const { source } = world.opened().composed.get('clinic-1')?.tenant.triggers ?? {};
  const reports = await source!.readReports(new AbortController().signal);
  const [report] = [...reports.records.values()];
  const window = { fromAt: Date.now() + DAY_MS, toAt: Date.now() + 60 * DAY_MS };
  const { records } = await source!.readAppointments({ agendaIds: null, window }, new AbortController().signal);
  const appointment = [...records.values()].find(
    ({ status, patientId: whose }) => status === 'booked' && whose !== null,
  );
  const [invoice] = [...world.clinic.invoices(clinicId)];
  // The other report existed before.
  expect(reports.records.size).toBeGreaterThan(1);
  world.clinic.plant(clinicId, 'reports', report!.id, { status: 'Draft' });
  world.clinic.plant(clinicId, 'invoices', invoice!.id, { status: 'Draft' });

  const daemon = await startOne(world);
  await startOne(world);
  const isBegun = async () =>
    (await triggersOf(daemon).store.reading({ endpoint: 'portal', event: 'invoice.issued' })).sinceAt;
  await waitFor(async () => (await isBegun()) !== null, { what: 'the first lists' });
  world.clinic.plant(clinicId, 'reports', report!.id, { status: 'Signed' });
  world.clinic.plant(clinicId, 'invoices', invoice!.id, {
    status: 'Issued',
    customer: { ...invoice!.customer, name: 'Zebedeo Unico' },
  });
  await read(daemon, 'report.available');
  await read(daemon, 'invoice.issued');
  world.clinic.plant(clinicId, 'appointments', appointment!.id, { status: 'Cancelled' });
  await read(daemon, 'appointment.cancelled');
  await waitFor(() => receiver.requests.length > 2, { what: 'the cancellation' });

  const { patientId, episodeId } = report!;
  const bodies = receiver.requests.map(({ body }) => JSON.parse(body) as { type: string; data: object });
  // Events found by one scan are sent concurrently.
  const inOrder = bodies
    .map(({ type, data }) => ({ type, data }))
    .sort((one, other) => (one.type < other.type ? 1 : -1));
  expect(inOrder).toEqual([
    { type: 'report.available', data: { tenant: 'clinic-1', reportId: report!.id, patientId, episodeId } },
    { type: 'invoice.issued', data: { tenant: 'clinic-1', invoiceId: invoice!.id, patientId: invoice!.patientId } },
    {
      type: 'appointment.cancelled',
      data: {
        tenant: 'clinic-1',
        appointmentId: appointment!.id,
        patientId: appointment!.patientId,
        agendaId: appointment!.agendaId,
      },
    },
  ]);
  for (const { body, headers } of receiver.requests) {
    for (const secret of SECRETS)
      expect(() => new Webhook(secret).verify(body, headers as Record<string, string>)).not.toThrow();
    expect(body).not.toContain('Zebedeo');
  }
  const shown = await world.cli('triggers', 'clinic-1');
  expect(shown.out).toMatch(/portal +report\.available +on .* 1 +0 +0 +0/);
  const metrics = await (await fetch(`http://127.0.0.1:${daemon.operatorPort}/metrics`)).text();
  const labels = 'tenant="clinic-1",endpoint="portal",event="invoice.issued",result="sent",reason="none"';
  expect(metrics).toContain(`clinic_mirror_triggers{${labels}} 1`);
});

test('without the scope for reports their event is off and reported; invoices continue, and reconnecting restores reports', async () => {
  const { world, receiver } = await startWorld();
  const { clinicId = '' } = world.tenants[0] ?? {};
  const [invoice] = [...world.clinic.invoices(clinicId)];
  world.clinic.plant(clinicId, 'invoices', invoice!.id, { status: 'Draft' });
  await world.logIn({ connections: ['clinic'], clinicScopes: SCOPES });
  const daemon = await startOne(world);
  const { store } = triggersOf(daemon);
  const begun = (event: 'report.available' | 'invoice.issued') =>
    waitFor(async () => (await store.reading({ endpoint: 'portal', event })).sinceAt !== null, { what: event });
  await begun('invoice.issued');
  world.clinic.plant(clinicId, 'invoices', invoice!.id, { status: 'Issued' });
  await read(daemon, 'invoice.issued');
  expect(receiver.requests.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual(['invoice.issued']);
  const status = (await world.cli('status', 'clinic-1')).out.replaceAll(/\n */g, ' ');
  expect(status).toMatch(/off: report\.available to portal \(missing-claim\);.*svc\.medicalreports/);

  await world.logIn({ connections: ['clinic'] });
  await begun('report.available');
  expect((await world.cli('status', 'clinic-1')).out).not.toContain('report.available');
  expect(receiver.requests).toHaveLength(1);
});
