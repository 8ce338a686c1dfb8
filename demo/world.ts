import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DIALECT_NAMES, type DialectName } from '../sandbox/clinic/dialects/index.ts';
import { type ClinicSandbox, startClinicSandbox } from '../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../sandbox/google/index.ts';
import { type GraphSandbox, startGraphSandbox } from '../sandbox/graph/index.ts';
import { type FaultProxy, startFaultProxy } from '../sandbox/kit/fault-proxy.ts';
import { tenantVariable } from '../src/settings/tenant-secrets.ts';
import type { PrivateDavServer } from '../tools/dav-server.ts';
import { freePort } from '../tools/free-port.ts';
import { startRadicale } from '../tools/radicale.ts';
import { type PrivateRedis, startRedis } from '../tools/redis.ts';
import { clientSecretsOf, keysOf, registeredSettings, writeConfiguration } from './configuration.ts';
import type { DemoCrm } from './crm.ts';
import type { RemoteReader } from './read-targets.ts';
import { readCaldavEvents, readGoogleEvents, readOutlookEvents } from './read-targets.ts';
import { startCrms } from './start-crms.ts';

/** How the clinic speaks; the daemon gets the profile of the same name, and nothing else is different. */
export const DIALECTS = DIALECT_NAMES;

export type Dialect = DialectName;

/** One target of the demonstration and how to look at it from outside the product. */
export interface DemoTarget {
  tenant: string;
  target: string;
  connector: 'google-calendar' | 'outlook-calendar' | 'caldav';
  agendaIds: string[];
  /** Every request of the daemon to this target passes here and is counted. */
  proxy: FaultProxy;
  read: RemoteReader;
}

/** A connection that must be authorised before the daemon can work. */
export interface DemoLogin {
  tenant: string;
  connection: string;
  kind: 'clinic' | 'google' | 'microsoft';
  username: string;
  password: string;
}

/** Everything outside the daemon. */
export interface World {
  dialect: Dialect;
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
  radicale: PrivateDavServer | null;
  redis: PrivateRedis;
  /** Calendars. */
  targets: DemoTarget[];
  /** One for each clinic, if requested. */
  crms: DemoCrm[];
  logins: DemoLogin[];
  /** Sandbox tenant id by the daemon's tenant. */
  clinicTenants: ReadonlyMap<string, string>;
  configDir: string;
  env: Record<string, string>;
  /** URL of the pages while the daemon runs; null without pages. */
  pagesUrl: string | null;
  /** Where configuration and logs lie; removed at the end. */
  dir: string;
  close(): Promise<void>;
}

/** How large the world is. */
export interface WorldOptions {
  appointmentsPerTenant: number;
  agendasPerTenant: number;
  patientsPerTenant: number;
  pullEverySeconds: number;
  /** Default: `documented`. */
  dialect?: Dialect;
  leaseTtlMs?: number;
  /** The second doctor of each clinic has an Outlook mailbox instead of a Google account. */
  outlook?: boolean;
  /** Patients are contacts in a CRM too: those of the first clinic, with their visits, in HubSpot, those of the second in Salesforce. */
  crm?: boolean;
  /** Web pages, and an audit log of actions. */
  pages?: boolean;
  /** A public port, where connection links open. */
  publicPort?: boolean;
  /** Reports a missing Radicale; the world then has no CalDAV. */
  notice: (text: string) => void;
}

const TENANTS = ['aurora', 'belvedere'] as const;
const NAMES = { aurora: 'Poliambulatorio Aurora', belvedere: 'Studio Belvedere' } as const;
const DAV_PASSWORD = 'demo-password';
const PAST_DAYS = 30;
const FUTURE_DAYS = 90;
const WINDOW = { pastDays: PAST_DAYS + 2, futureDays: FUTURE_DAYS + 30 };

/** Starts the clinic, Google, Graph, Radicale and Redis on loopback and writes a configuration for them. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-'));
  const redis = await startRedis();
  const clinic = await startClinicSandbox({
    tenants: TENANTS.map((id) => ({ name: NAMES[id], patients: options.patientsPerTenant })),
    appointments: options.appointmentsPerTenant,
    agendas: options.agendasPerTenant,
    pastDays: PAST_DAYS,
    futureDays: FUTURE_DAYS,
    deviceIntervalSeconds: 1,
    dialect: options.dialect ?? 'documented',
  });
  const google = await startGoogleSandbox();
  const graph = await startGraphSandbox();
  const started = await startRadicale({ users: TENANTS.map((name) => ({ name, password: DAV_PASSWORD })) });
  const radicale = 'unavailable' in started ? null : started;
  if ('unavailable' in started)
    options.notice(`No CalDAV server available, continuing without: ${started.unavailable}`);
  const unexplained = options.dialect === 'hostile' ? 'booked' : null;
  const crms = options.crm === true ? await startCrms(TENANTS, clinic, { window: WINDOW, unexplained }) : [];
  const targets: DemoTarget[] = [];
  const logins: DemoLogin[] = [];
  const files = new Map<string, object>();
  for (const [index, tenant] of TENANTS.entries()) {
    const parts = { clinic, google, graph, radicale, crms, targets, logins, outlook: options.outlook ?? false };
    files.set(tenant, await configureTenant(tenant, index, parts));
  }
  const configDir = join(dir, 'config');
  const pagesPort = options.pages === true ? await freePort() : null;
  const profile = options.dialect ?? 'documented';
  const dataDirectory = join(dir, 'data');
  const settings = {
    ...registeredSettings({ clinic, google, graph }, { profile, budget: { requestsPerMinute: 3_000, burst: 200 } }),
    ...(pagesPort === null ? {} : { operator: { port: pagesPort, access: {} }, dataDirectory }),
    ...(options.publicPort === true ? { http: { port: await freePort() } } : {}),
    ...Object.assign({}, ...crms.map((crm) => crm.settings)),
    schedule: { pullEverySeconds: options.pullEverySeconds, tokenCheckEverySeconds: 30 },
    ...(options.leaseTtlMs === undefined ? {} : { leases: { ttlMs: options.leaseTtlMs } }),
  };
  await writeConfiguration(configDir, { settings, files, profile });
  return {
    dialect: profile,
    clinic,
    google,
    graph,
    radicale,
    redis,
    targets,
    crms,
    logins,
    clinicTenants: new Map(TENANTS.map((id, index) => [id, clinic.tenants[index]?.id ?? ''])),
    configDir,
    pagesUrl: pagesPort === null ? null : `http://localhost:${pagesPort}`,
    dir,
    env: {
      REDIS_URL: redis.url,
      ...keysOf(randomBytes(32), randomBytes(32)),
      ...clientSecretsOf({ clinic, google, graph }),
      ...Object.fromEntries(TENANTS.map((tenant) => [tenantVariable(tenant, 'DAV_PASSWORD'), DAV_PASSWORD])),
      ...Object.assign({}, ...crms.map(({ env }) => env)),
    },
    async close() {
      await Promise.all([...targets.map(({ proxy }) => proxy.close()), ...crms.map((crm) => crm.close())]);
      await Promise.all([clinic.close(), google.close(), graph.close()]);
      await Promise.all([radicale?.stop(), redis.stop()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

interface Parts {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
  radicale: PrivateDavServer | null;
  targets: DemoTarget[];
  logins: DemoLogin[];
  outlook: boolean;
  crms: readonly DemoCrm[];
}

/** The last agenda uses CalDAV; each other agenda uses a doctor's own Google or Microsoft account. */
async function configureTenant(tenant: string, index: number, parts: Parts): Promise<object> {
  const source = parts.clinic.tenants[index];
  if (source === undefined) throw new Error('the sandbox clinic lacks a tenant');
  const { username, password } = source.user;
  parts.logins.push({ tenant, connection: 'clinic', kind: 'clinic', username, password });
  const connections: Record<string, object> = {};
  const targets: Record<string, object> = {};
  for (const [position, agenda] of source.agendas.entries()) {
    const isLast = position === source.agendas.length - 1;
    const summary = `${agenda.name} (clinic)`;
    const shared = {
      agendas: [agenda.id],
      window: WINDOW,
      fields: ['location'],
    };
    if (isLast && parts.radicale !== null) {
      const { url } = parts.radicale;
      const proxy = await startFaultProxy(url);
      connections.dav = { kind: 'caldav', username: tenant, password: { env: tenantVariable(tenant, 'DAV_PASSWORD') } };
      targets.room = {
        connector: 'caldav',
        connection: 'dav',
        ...shared,
        settings: { calendar: { home: `${proxy.url}/${tenant}/`, create: summary } },
      };
      const read = () => readCaldavEvents(`${url}/${tenant}/`, { username: tenant, password: DAV_PASSWORD });
      parts.targets.push({ tenant, target: 'room', connector: 'caldav', agendaIds: [agenda.id], proxy, read });
    } else if (parts.outlook && position === 1) {
      const target = `doctor-${position + 1}`;
      const mailbox = `${target}@${tenant}.example`;
      parts.graph.addMailbox(mailbox);
      const proxy = await startFaultProxy(parts.graph.graphUrl);
      connections[target] = { kind: 'microsoft', client: 'main', directory: parts.graph.tenantId };
      targets[target] = {
        connector: 'outlook-calendar',
        connection: target,
        ...shared,
        settings: { mailbox: 'me', calendar: { create: summary }, rootUrl: proxy.url },
      };
      parts.logins.push({ tenant, connection: target, kind: 'microsoft', username: mailbox, password: '' });
      const read = () => readOutlookEvents(parts.graph, mailbox, summary);
      parts.targets.push({ tenant, target, connector: 'outlook-calendar', agendaIds: [agenda.id], proxy, read });
    } else if (!isLast) {
      const target = `doctor-${position + 1}`;
      const account = `${target}@${tenant}.example`;
      parts.google.addAccount(account);
      const proxy = await startFaultProxy(parts.google.calendarApiUrl);
      connections[target] = { kind: 'google', client: 'main' };
      targets[target] = {
        connector: 'google-calendar',
        connection: target,
        ...shared,
        settings: { calendar: { create: summary }, rootUrl: proxy.url },
      };
      parts.logins.push({ tenant, connection: target, kind: 'google', username: account, password: '' });
      const read = () => readGoogleEvents(parts.google, account, summary);
      parts.targets.push({ tenant, target, connector: 'google-calendar', agendaIds: [agenda.id], proxy, read });
    }
  }
  for (const crm of parts.crms.filter((each) => each.tenant === tenant)) {
    Object.assign(connections, crm.connections);
    Object.assign(targets, crm.targets);
  }
  const clinic = { client: 'main', tenantId: source.id };
  return { name: source.name, language: 'it', zone: 'Europe/Rome', clinic, connections, targets };
}
