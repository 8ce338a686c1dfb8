import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type Comparison, compare } from '../../../demo/compare.ts';
import { runCli } from '../../../demo/daemon.ts';
import { type RemoteReader, readCaldavEvents, readGoogleEvents } from '../../../demo/read-targets.ts';
import {
  authorizeInBrowser,
  type ClinicSandbox,
  type ClinicSandboxOptions,
  type Credentials,
  startClinicSandbox,
} from '../../../sandbox/clinic/index.ts';
import { type GoogleSandbox, type GoogleSandboxOptions, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { type Composition, compose } from '../../../src/composition/compose.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { loginWithBrowser } from '../../../src/control/logins.ts';
import type { SyncResult } from '../../../src/control/sync.ts';
import { syncTenant } from '../../../src/control/sync.ts';
import { type Logger, silentLogger } from '../../../src/log/logger.ts';
import { loginDesk } from '../../../src/main.ts';
import { loadConfiguration } from '../../../src/settings/load.ts';
import type { PrivateRadicale } from '../../../tools/radicale.ts';

/** What a small world is made of. Each target shows one agenda of its tenant. */
export interface SmallWorldOptions {
  redisUrl: string;
  /** Per tenant; default: one Google calendar. */
  targets?: readonly ('google-calendar' | 'caldav')[];
  tenants?: number;
  appointments?: number;
  clinic?: ClinicSandboxOptions;
  google?: GoogleSandboxOptions;
  radicale?: PrivateRadicale;
  /** Merged into every target. */
  target?: object;
  /** Merged into the settings. */
  settings?: object;
  /** Merged into the clinic client's registration. */
  clinicClient?: object;
  /** Which user of the clinic logs in for a tenant; default: its front desk. */
  user?: (clinic: ClinicSandbox, index: number) => Credentials;
}

/** One target, and how to look at it from outside. */
export interface SmallTarget {
  tenant: string;
  target: string;
  agendaIds: string[];
  /** Account at Google; empty for CalDAV. */
  account: string;
  proxy: FaultProxy;
  read: RemoteReader;
}

/** One tenant of ours and of the clinic. */
export interface SmallTenant {
  id: string;
  clinicId: string;
  agendaIds: string[];
  user: Credentials;
}

/** A clinic, its targets and a configuration that joins them; the product runs in this process or as its own. */
export interface SmallWorld {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  /** The product reaches the clinic's API through it, but not the authorization server. */
  clinicProxy: FaultProxy;
  tenants: SmallTenant[];
  targets: SmallTarget[];
  clinicTenants: ReadonlyMap<string, string>;
  configDir: string;
  env: Record<string, string>;
  dir: string;
  /** Opens the product in this process; closed with the world. */
  open(log?: Logger): Composition;
  /** Logs in to the clinic and to every Google account of a tenant, or of all. */
  logIn(options?: LogInOptions): Promise<void>;
  /** One whole cycle in this process. */
  cycle(tenant?: string): Promise<SyncResult>;
  cli(...args: string[]): Promise<{ code: number | null; out: string; err: string }>;
  /** Every target against the clinic. */
  compareAll(): Promise<Comparison[]>;
  close(): Promise<void>;
}

/** Who logs in where, and what they allow. */
export interface LogInOptions {
  tenant?: string;
  connections?: string[];
  clinicScopes?: string[];
  googleScopes?: string[];
}

const DAV_PASSWORD = 'small-dav-password';
const ZONE = 'Europe/Rome';

/** Starts a small world. The clinic is empty but for `appointments` per tenant. */
export async function startSmallWorld(options: SmallWorldOptions): Promise<SmallWorld> {
  const kinds = options.targets ?? ['google-calendar'];
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-e2e-'));
  const [clinic, google] = await Promise.all([
    startClinicSandbox({
      tenants: options.tenants ?? 1,
      appointments: options.appointments ?? 40,
      agendas: kinds.length,
      pastDays: 5,
      futureDays: 60,
      ...options.clinic,
    }),
    startGoogleSandbox(options.google),
  ]);
  const clinicProxy = await startFaultProxy(clinic.baseUrl);
  if (options.radicale !== undefined) await emptyRadicale(options.radicale);
  const built = await buildTenants(options, kinds, clinic, google);
  const configDir = join(dir, 'config');
  await writeConfiguration(configDir, options, built, { clinic, google, clinicUrl: clinicProxy.url });
  const env = {
    REDIS_URL: options.redisUrl,
    CLINIC_MIRROR_IDENTITY_KEY: randomBytes(32).toString('base64'),
    CLINIC_MIRROR_SEALING_KEY: randomBytes(32).toString('base64'),
    CLINIC_CLIENT_SECRET: clinic.clients[0]?.clientSecret ?? '',
    GOOGLE_CLIENT_SECRET: google.client.clientSecret,
    DAV_PASSWORD,
  };
  const compositions: Composition[] = [];
  const open = (log: Logger = silentLogger) => {
    const configuration = loadConfiguration({ dir: configDir, env, connectors, mode: 'strict' });
    const composition = compose({ configuration, log, priority: 'interactive' });
    compositions.push(composition);
    // What is tried again is tried again as soon as the rules allow.
    for (const { tenant } of composition.composed.values()) tenant.random = () => 0;
    return composition;
  };
  const used = () => compositions[0] ?? open();
  const clinicTenants = new Map(built.tenants.map(({ id, clinicId }) => [id, clinicId]));
  const world: SmallWorld = {
    clinic,
    google,
    clinicProxy,
    tenants: built.tenants,
    targets: built.targets,
    clinicTenants,
    configDir,
    env,
    dir,
    open,
    logIn: (given = {}) => logInAll(used(), world, given),
    cycle: (tenant = built.tenants[0]?.id ?? '') => cycle(used(), tenant),
    cli: (...args) => runCli({ configDir, env }, args),
    compareAll: () => Promise.all(built.targets.map((target) => compare({ clinic, clinicTenants }, target))),
    async close() {
      await Promise.all(compositions.map((composition) => composition.close()));
      await Promise.all([clinicProxy, ...built.targets.map(({ proxy }) => proxy)].map((proxy) => proxy.close()));
      await Promise.all([clinic.close(), google.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
  return world;
}

interface Built {
  tenants: SmallTenant[];
  targets: SmallTarget[];
  files: Map<string, object>;
}

async function buildTenants(
  options: SmallWorldOptions,
  kinds: readonly ('google-calendar' | 'caldav')[],
  clinic: ClinicSandbox,
  google: GoogleSandbox,
): Promise<Built> {
  const built: Built = { tenants: [], targets: [], files: new Map() };
  for (const [index, source] of clinic.tenants.entries()) {
    const id = `clinic-${index + 1}`;
    const connections: Record<string, object> = {};
    const targets: Record<string, object> = {};
    for (const [position, kind] of kinds.entries()) {
      const agenda = source.agendas[position];
      if (agenda === undefined) throw new Error('the clinic has fewer agendas than targets are wanted');
      const name = `${kind === 'caldav' ? 'room' : 'doctor'}-${position + 1}`;
      const summary = `Calendar ${position + 1}`;
      const shared = {
        connector: kind,
        connection: name,
        agendas: [agenda.id],
        window: { pastDays: 10, futureDays: 200 },
      };
      const account = kind === 'caldav' ? '' : `${name}@${id}.example`;
      const proxy = await startFaultProxy(kind === 'caldav' ? radicaleOf(options).url : google.calendarApiUrl);
      let read: RemoteReader;
      let settings: object;
      if (kind === 'caldav') {
        const { url } = radicaleOf(options);
        connections[name] = { kind, username: id, password: { env: 'DAV_PASSWORD' } };
        settings = { calendar: { home: `${proxy.url}/${id}/`, create: summary } };
        read = () => readCaldavEvents(`${url}/${id}/`, { username: id, password: DAV_PASSWORD });
      } else {
        google.addAccount(account);
        connections[name] = { kind: 'google', client: 'main' };
        settings = { calendar: { create: summary }, rootUrl: proxy.url };
        read = () => readGoogleEvents(google, account, summary);
      }
      targets[name] = { ...shared, ...options.target, settings };
      built.targets.push({ tenant: id, target: name, agendaIds: [agenda.id], account, proxy, read });
    }
    const user = options.user?.(clinic, index) ?? source.user;
    built.tenants.push({ id, clinicId: source.id, agendaIds: source.agendas.map((agenda) => agenda.id), user });
    const clinicPart = { client: 'main', tenantId: source.id };
    built.files.set(id, {
      name: `Clinic ${index + 1}`,
      language: 'en',
      zone: ZONE,
      clinic: clinicPart,
      connections,
      targets,
    });
  }
  return built;
}

/** Calendars of an earlier test would be taken for ours. */
async function emptyRadicale({ url, users }: PrivateRadicale): Promise<void> {
  for (const { name, password } of users) {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
    await fetch(`${url}/${name}/`, { method: 'DELETE', headers: { authorization } });
  }
}

function radicaleOf({ radicale }: SmallWorldOptions): PrivateRadicale {
  if (radicale === undefined) throw new Error('a CalDAV target needs a Radicale');
  return radicale;
}

/** The Radicale users that small worlds log in as. */
export const RADICALE_USERS = ['clinic-1', 'clinic-2'].map((name) => ({ name, password: DAV_PASSWORD }));

async function writeConfiguration(
  configDir: string,
  options: SmallWorldOptions,
  { files }: Built,
  { clinic, google, clinicUrl }: { clinic: ClinicSandbox; google: GoogleSandbox; clinicUrl: string },
): Promise<void> {
  const settings = {
    redis: { url: { env: 'REDIS_URL' } },
    http: { port: 0 },
    secrets: {
      identityKey: { env: 'CLINIC_MIRROR_IDENTITY_KEY' },
      sealingKeys: [{ id: 'k1', key: { env: 'CLINIC_MIRROR_SEALING_KEY' } }],
    },
    clinicClients: {
      main: {
        profile: 'documented',
        baseUrl: clinicUrl,
        authUrl: clinic.authUrl,
        clientId: clinic.clients[0]?.clientId ?? '',
        clientSecret: { env: 'CLINIC_CLIENT_SECRET' },
        budget: { requestsPerMinute: 6_000, burst: 500 },
        ...options.clinicClient,
      },
    },
    googleClients: {
      main: {
        issuer: google.issuer,
        clientId: google.client.clientId,
        clientSecret: { env: 'GOOGLE_CLIENT_SECRET' },
      },
    },
    schedule: { pullEverySeconds: 10, tokenCheckEverySeconds: 10 },
    leases: { ttlMs: 2_000 },
    ...options.settings,
  };
  await mkdir(join(configDir, 'tenants'), { recursive: true });
  await mkdir(join(configDir, 'profiles'), { recursive: true });
  await writeFile(join(configDir, 'clinic-mirror.yaml'), stringify(settings));
  await writeFile(join(configDir, 'profiles', 'documented.yaml'), '{}\n');
  for (const [tenant, content] of files) {
    await writeFile(join(configDir, 'tenants', `${tenant}.yaml`), stringify(content));
  }
}

async function logInAll(composition: Composition, world: SmallWorld, options: LogInOptions): Promise<void> {
  for (const { id, user } of world.tenants) {
    if (options.tenant !== undefined && options.tenant !== id) continue;
    const accounts = world.targets.filter(({ tenant, account }) => tenant === id && account !== '');
    for (const connection of options.connections ?? ['clinic', ...accounts.map(({ target }) => target)]) {
      const account = accounts.find(({ target }) => target === connection)?.account ?? '';
      const visits: Promise<unknown>[] = [];
      const visit = async (url: string) => {
        const { clinicScopes, googleScopes } = options;
        const back =
          connection === 'clinic'
            ? authorizeInBrowser(url, { ...user, ...(clinicScopes === undefined ? {} : { scopes: clinicScopes }) })
            : world.google.authorizeInBrowser(url, {
                account,
                ...(googleScopes === undefined ? {} : { scopes: googleScopes }),
              });
        await (await fetch(await back)).text();
      };
      const desk = loginDesk(composition);
      await loginWithBrowser(desk, id, connection, (url) => visits.push(visit(url)), AbortSignal.timeout(15_000));
      await Promise.all(visits);
    }
  }
}

function cycle(composition: Composition, tenant: string): Promise<SyncResult> {
  const signal = new AbortController().signal;
  return syncTenant(composition.estate, tenant, () => {}, { stop: signal, abort: signal });
}
