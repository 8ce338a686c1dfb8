import type { Redis } from 'ioredis';
import { onTestFinished } from 'vitest';
import type { LoginServices } from '../../src/control/logins.ts';
import { listRuns } from '../../src/features/undo/undo.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { DAY_MS, MINUTE_MS } from '../../src/model/time.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { createLoginLinks, createLoginStore } from '../../src/state/logins.ts';
import { committedProfile } from '../clinic/open-client.ts';
import { createModelGateway, openModelReminders, patientOf } from '../features/reminders/reminder-world.ts';
import { createTriggerWorld } from '../features/triggers/trigger-world.ts';
import { cycle } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant } from '../jobs/open-tenant.ts';
import { openWorker, RING, SCOPES } from '../oauth/connection.ts';
import { startTokenServer, tokensNamed } from '../oauth/token-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openClinicAccess } from './open-clinic-access.ts';
import { openInstallation } from './open-installation.ts';

/** Of whom the log must not tell. */
export const PATIENT = 'pat-7731';
/** Appointments of the clinic: more than may vanish without a person's word. */
const APPOINTMENTS = 30;
const CONTACTS = { mapping: { lastname: 'lastName' }, everyMinutes: 1 };

/** A tenant with all that a person's acts may be about: a calendar, contacts, reminders. A first cycle has filled its targets. */
export async function openActsWorld(redis: Redis) {
  const clock = { now: NOW };
  const clinic = createModelClinic();
  clinic.patientList.push(patientOf(PATIENT));
  const book = (id: string, inHours: number) =>
    clinic.appointments.set(id, appointmentOf(id, { inHours, patientId: PATIENT }));
  for (let index = 0; index < APPOINTMENTS; index += 1) book(`${index}`, 24 + index);
  const reminders = openModelReminders({ redis, gateway: createModelGateway(), alarms: { wakes: new Map() } });
  const tenant = openTenant({
    redis,
    clinic,
    targets: [
      { model: createModelTarget() },
      { id: 'contacts', model: createModelTarget(), configuration: { crm: crmSchema.parse(CONTACTS) } },
    ],
    clock: () => clock.now,
    reminders,
  });
  Object.assign(tenant.configuration, { reminders: reminders.file });
  const contacts = tenant.targets.get('contacts');
  if (contacts === undefined) throw new Error('there are no contacts');
  // Of nobody before us.
  Object.assign(contacts.connector, {
    existing: { async *list() {}, read: async () => [], stamp: async () => new Map() },
  });
  const installation = openInstallation({ tenants: [tenant] });
  const pass = async () => {
    clock.now += MINUTE_MS;
    return await cycle(tenant);
  };
  await pass();
  return {
    ...{ tenant, installation, identity: contacts.identity },
    /** A target that others fetch. */
    get feed() {
      Object.assign(tenant.targets.get('doctor')!.configuration, { connector: 'feed' });
      return 'doctor';
    },
    /** A run that changed one appointment. */
    async changedRun() {
      book('1', 90);
      await pass();
      return (await listRuns(installation))[0]?.run ?? '';
    },
    /** The same after a person put the appointment back: it stays as it is. */
    async pinnedRun() {
      const run = await this.changedRun();
      await tenant.journal.pin('doctor', ['1'], clock.now + DAY_MS);
      return run;
    },
    /** The channel of the reminders is gone at its other side. */
    closeChannel: () => reminders.ledger.closeChannel('text', { code: 'gone', at: clock.now }),
    /** A hold, since the clinic tells of no appointment any more. */
    async heldRun() {
      clinic.appointments.clear();
      await pass();
      const [hold] = await tenant.holds.list();
      if (hold === undefined) throw new Error('nothing is held');
      return hold;
    },
  };
}

/** The same tenant's receivers of triggers: one, `portal`. */
export function openTriggerInstallation(redis: Redis) {
  const portal = { url: 'https://portal.example/in', events: ['report.available'] };
  return openInstallation({ tenants: [createTriggerWorld(redis, { portal }).open()] });
}

/** The connection `clinic` before an authorization server that takes whatever it is asked; and a browser of whoever goes where it leads. */
export async function openActsLogins(connect: () => Redis) {
  const server = await startTokenServer();
  server.onToken = () => ({ body: { ...tokensNamed(0), expires_in: 3_600 } });
  server.onDevice = () => ({ status: 400, body: { error: 'unauthorized_client' } });
  const worker = openWorker({ redis: connect(), issuer: server.url });
  const target = { context: worker.place, server: worker.server, scopes: SCOPES, clock: Date.now };
  const desk: LoginServices = {
    target: () => target,
    isUsed: () => true,
    pending: createLoginStore<PendingLogin>(connect(), RING),
    links: createLoginLinks(connect(), RING, Date.now),
    about: () => ({ clinic: 'Studio Rossi', language: 'it', targets: [] }),
    clock: Date.now,
    log: silentLogger,
    remote: { callbackUrl: 'https://mirror.example/oauth/callback', linkUrl: 'https://mirror.example/oauth/login' },
    loopbackPort: 0,
    beforeLogout: (_tenant, _id, work) => work(),
    onLogin: async () => {},
  };
  const browse = (address: string) => {
    const { searchParams } = new URL(address);
    const answer = new URLSearchParams({ code: 'code-1', state: searchParams.get('state') ?? '' });
    void fetch(`${searchParams.get('redirect_uri')}?${answer}`);
  };
  return { desk, worker, browse };
}

/** The clinic's API, which takes whatever is written. */
export async function openActsClinic() {
  const clinic = await startReceiver(() => ({ status: 204 }));
  onTestFinished(() => clinic.close());
  const access = openClinicAccess({ baseUrl: clinic.url }, 'token', committedProfile('documented'));
  return { ...access, tenantId: async () => 'clinic-7' };
}
