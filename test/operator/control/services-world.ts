import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import type { AccessLevel } from '../../../src/core/model/acts.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { listRuns } from '../../../src/features/undo/undo.ts';
import type { PendingLogin } from '../../../src/oauth/credential.ts';
import { createLoginLinks, createLoginStore } from '../../../src/operator/control/login-stores.ts';
import type { LoginServices } from '../../../src/operator/control/logins.ts';
import { addAccess } from '../../../src/operator/http-server/access/access.ts';
import { addApi } from '../../../src/operator/http-server/api/api.ts';
import type { Route } from '../../../src/operator/http-server/api/routes.ts';
import { openApp } from '../../../src/operator/http-server/app.ts';
import type { OperatorServices } from '../../../src/operator/http-server/operators.ts';
import type { ApprovalSettings } from '../../../src/settings/access-schema.ts';
import { crmSchema } from '../../../src/settings/crm-schema.ts';
import { createApprovalStore } from '../../../src/state/stored-documents.ts';
import { committedProfile } from '../../clinic/open-client.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { createModelGateway, openModelReminders, patientOf } from '../../features/reminders/reminder-world.ts';
import { createTriggerWorld } from '../../features/triggers/trigger-world.ts';
import { openWorker, RING, SCOPES } from '../../oauth/connection.ts';
import { startTokenServer, tokensNamed } from '../../oauth/token-server.ts';
import { startReceiver } from '../../support/receiver.ts';
import { cycle } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { AURORA, openServices, visitorNamed } from '../http-server/open-services.ts';
import { auditLogInMemory, openActing, person } from './acting.ts';
import { openClinicAccess } from './open-clinic-access.ts';
import { type ConfigurationsChoice, openConfigurations } from './open-configurations.ts';
import { openBooked, openInstallation } from './open-installation.ts';

/** Of whom the log must not tell. */
export const PATIENT = 'pat-7731';
/** Appointments of the clinic: more than may vanish without an operator's approval. */
const APPOINTMENTS = 30;
const CONTACTS = { mapping: { lastname: 'lastName' }, everyMinutes: 1 };

/** Opens a tenant with every subject of an operator's action: a calendar, contacts, reminders. A first cycle has filled its targets. */
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
  // The CRM holds no earlier contacts.
  Object.assign(contacts.connector, {
    contacts: { async *list() {}, read: async () => [], stamp: async () => new Map() },
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
    /** Returns a changed run after an operator restored the appointment, which then stays unchanged. */
    async pinnedRun() {
      const run = await this.changedRun();
      await tenant.journal.pin('doctor', ['1'], clock.now + DAY_MS);
      return run;
    },
    /** The channel of the reminders is gone at its other side. */
    closeChannel: () => reminders.ledger.closeChannel('text', { code: 'gone', at: clock.now }),
    /** Returns a hold, which exists because the clinic lists no appointment any more. */
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

/** Opens the connection `clinic` with an authorization server that approves every request, and a browser that follows its redirects. */
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

/** The tenant of which most is known. */
export const ROSSI = 'studio-rossi';
/** One whose file has faults. */
export const BROKEN = 'broken';

/** What a test chooses. */
export interface ApiChoice {
  policy?: Partial<ApprovalSettings>;
  /** Sign-ins are too old for sensitive actions. */
  isStale?: boolean;
  loginServices?: LoginServices;
  backups?: Partial<OperatorServices['backups']>;
  /** What is wrong with documents of managed tenants. Default: nothing. */
  faultsOf?: ConfigurationsChoice['faultsOf'];
  /** What is wrong with files of tenants. Default: nothing. */
  refused?: ConfigurationsChoice['refused'];
}

const NO_BACKUPS: OperatorServices['backups'] = {
  backup: async () => 'sealed',
  restore: () => Promise.reject(new Error('unused')),
  seal: (text) => text,
  open: (text) => text,
};

/** The API over three tenants; one is filled once, and one can't be run. */
export async function openApiWorld(redis: Redis, choice: ApiChoice = {}) {
  const rossi = await openActsWorld(redis);
  const aurora = openAurora(redis);
  await cycle(aurora.tenant);
  const fault = { file: 'tenants/broken.yaml', line: 1, path: '', message: 'no', remedy: 'mend it' };
  const unusable = [{ id: BROKEN, faults: [fault] }] as never;
  const installation = openInstallation({ tenants: [rossi.tenant, aurora.tenant], unusable });
  const log = auditLogInMemory();
  const store = createApprovalStore(redis, ROSSI, Buffer.alloc(32, 7), () => NOW);
  const { policy = {} } = choice;
  const { loginServices, backups, faultsOf, refused } = choice;
  const desk = openServices(installation, {
    ...(loginServices === undefined ? {} : { loginServices: () => loginServices }),
    backups: { ...NO_BACKUPS, ...backups },
    configurations: openConfigurations(redis, {
      running: [ROSSI, AURORA],
      inFiles: { [ROSSI]: 'config/tenants/studio-rossi.yaml', [AURORA]: 'config/tenants/aurora.yaml' },
      ...(faultsOf === undefined ? {} : { faultsOf }),
      ...(refused === undefined ? {} : { refused }),
    }),
    acting: ({ name }, why) => {
      const { isStale = false } = choice;
      return { ...openActing({ who: person(name), why, store, policy, log }), isStale };
    },
  });
  const app = await openApp({ log: silentLogger });
  const access = {
    publicUrl: () => 'http://localhost',
    visitorOf: async ({ headers }: { headers: { authorization?: string | undefined } }) =>
      visitorNamed(headers.authorization?.replace('Bearer ', '') ?? '', 'token'),
  };
  addAccess(app, { ...access, stillVisitorOf: access.visitorOf, heldBackMs: async () => null });
  addApi(app, desk);
  await app.ready();
  const as =
    (visitor: string | null) =>
    async (method: Route['method'], path: string, body?: object, headers: Record<string, string> = {}) => {
      const answer = await app.inject({
        method,
        url: `/api/v1${path}`,
        headers: { ...(visitor === null ? {} : { authorization: `Bearer ${visitor}` }), ...headers },
        ...(body === undefined ? {} : { payload: body }),
      });
      return { status: answer.statusCode, body: answer.json(), headers: answer.headers };
    };
  return { app, installation, rossi, aurora, as, entries: log.entries };
}

/** A calendar with three appointments, and more to come. */
function openAurora(redis: Redis) {
  const aurora = openBooked({ connect: () => redis }, 0, { id: AURORA, name: 'Aurora' });
  const book = (id: string, inHours: number) => aurora.clinic.appointments.set(id, appointmentOf(id, { inHours }));
  for (const [index, id] of ['a', 'b', 'c'].entries()) book(id, 24 + index);
  return { ...aurora, book };
}

/** Returns the common form of a refusal. */
export function problemLike(status: number, code: string) {
  return {
    status,
    headers: expect.objectContaining({ 'content-type': expect.stringMatching(/^application\/problem\+json/) }),
    body: expect.objectContaining({
      type: `urn:clinic-mirror:error:${code}`,
      status,
      code,
      detail: expect.any(String),
    }),
  };
}

/** All pages of a list, one after the other. */
export async function allPages(
  ask: (query: string) => Promise<{ status: number; body: { items: unknown[]; next: string | null } }>,
  limit: number,
): Promise<unknown[]> {
  const all: unknown[] = [];
  let after: string | null = null;
  do {
    const query: string = after === null ? `limit=${limit}` : `limit=${limit}&after=${encodeURIComponent(after)}`;
    const { status, body } = await ask(query);
    expect([status, body.items.length <= limit]).toEqual([200, true]);
    all.push(...body.items);
    after = body.next;
  } while (after !== null);
  return all;
}

/** The levels, least first. */
export const LEVELS: readonly AccessLevel[] = ['viewer', 'operator', 'owner'];
