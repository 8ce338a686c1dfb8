import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { type RemoteReader, readCaldavEvents, readGoogleEvents } from '../../../demo/read-targets.ts';
import type { ClinicSandbox, ClinicSandboxOptions, Credentials } from '../../../sandbox/clinic/index.ts';
import type { GoogleSandbox, GoogleSandboxOptions } from '../../../sandbox/google/index.ts';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
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

/** Tenants with their targets, and the content of their files. */
export interface Built {
  tenants: SmallTenant[];
  targets: SmallTarget[];
  files: Map<string, object>;
}

const DAV_PASSWORD = 'small-dav-password';
const ZONE = 'Europe/Rome';

/** The Radicale users that small worlds log in as. */
export const RADICALE_USERS = ['clinic-1', 'clinic-2'].map((name) => ({ name, password: DAV_PASSWORD }));

/** Makes accounts and proxies, and what the tenants' files say of them. */
export async function buildTenants(
  options: SmallWorldOptions,
  clinic: ClinicSandbox,
  google: GoogleSandbox,
): Promise<Built> {
  const built: Built = { tenants: [], targets: [], files: new Map() };
  for (const [index, { id: clinicId, agendas, user }] of clinic.tenants.entries()) {
    const id = `clinic-${index + 1}`;
    const connections: Record<string, object> = {};
    const targets: Record<string, object> = {};
    for (const [position, kind] of (options.targets ?? ['google-calendar']).entries()) {
      const agendaId = agendas[position]?.id ?? '';
      const name = `${kind === 'caldav' ? 'room' : 'doctor'}-${position + 1}`;
      const { connection, settings, ...outside } = await buildTarget(kind, id, name, { options, google });
      connections[name] = connection;
      targets[name] = {
        connector: kind,
        connection: name,
        agendas: [agendaId],
        window: { pastDays: 10, futureDays: 200 },
        ...options.target,
        settings,
      };
      built.targets.push({ tenant: id, target: name, agendaIds: [agendaId], ...outside });
    }
    const agendaIds = agendas.map((agenda) => agenda.id);
    built.tenants.push({ id, clinicId, agendaIds, user: options.user?.(clinic, index) ?? user });
    const source = { client: 'main', tenantId: clinicId };
    const file = { name: `Clinic ${index + 1}`, language: 'en', zone: ZONE, clinic: source, connections, targets };
    built.files.set(id, file);
  }
  return built;
}

type BuiltTarget = Pick<SmallTarget, 'account' | 'proxy' | 'read'> & { connection: object; settings: object };

async function buildTarget(
  kind: 'google-calendar' | 'caldav',
  tenant: string,
  name: string,
  { options, google }: { options: SmallWorldOptions; google: GoogleSandbox },
): Promise<BuiltTarget> {
  const summary = `Calendar of ${name}`;
  if (kind === 'caldav') {
    const { url } = radicaleOf(options);
    const proxy = await startFaultProxy(url);
    return {
      connection: { kind, username: tenant, password: { env: 'DAV_PASSWORD' } },
      settings: { calendar: { home: `${proxy.url}/${tenant}/`, create: summary } },
      account: '',
      proxy,
      read: () => readCaldavEvents(`${url}/${tenant}/`, { username: tenant, password: DAV_PASSWORD }),
    };
  }
  const account = `${name}@${tenant}.example`;
  google.addAccount(account);
  const proxy = await startFaultProxy(google.calendarApiUrl);
  return {
    connection: { kind: 'google', client: 'main' },
    settings: { calendar: { create: summary }, rootUrl: proxy.url },
    account,
    proxy,
    read: () => readGoogleEvents(google, account, summary),
  };
}

function radicaleOf({ radicale }: SmallWorldOptions): PrivateRadicale {
  if (radicale === undefined) throw new Error('a CalDAV target needs a Radicale');
  return radicale;
}

/** Calendars of an earlier test would be taken for ours. */
export async function emptyRadicale({ url, users }: PrivateRadicale): Promise<void> {
  for (const { name, password } of users) {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
    await fetch(`${url}/${name}/`, { method: 'DELETE', headers: { authorization } });
  }
}

/** What the configuration refers to by name. */
export function secretsFor(clinic: ClinicSandbox, google: GoogleSandbox): Record<string, string> {
  return {
    CLINIC_MIRROR_IDENTITY_KEY: randomBytes(32).toString('base64'),
    CLINIC_MIRROR_SEALING_KEY: randomBytes(32).toString('base64'),
    CLINIC_CLIENT_SECRET: clinic.clients[0]?.clientSecret ?? '',
    GOOGLE_CLIENT_SECRET: google.client.clientSecret,
    DAV_PASSWORD,
  };
}

/** Writes the settings, the clinic profile and the tenants' files. */
export async function writeConfiguration(
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
