import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { stringify } from 'yaml';
import type { ClinicSandbox, ClinicSandboxOptions, Credentials } from '../../../sandbox/clinic/index.ts';
import type { GoogleSandbox, GoogleSandboxOptions } from '../../../sandbox/google/index.ts';
import type { GraphSandbox, GraphSandboxOptions } from '../../../sandbox/graph/index.ts';
import { ON_THIS_MACHINE } from '../../../sandbox/kit/outbound.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import {
  type BuiltTarget,
  buildTarget,
  type CalendarServers,
  type DavServer,
  type Family,
  RADICALE_USERS,
} from './small-targets.ts';

/** What a small world is made of. Each target shows one agenda of its tenant. */
export interface SmallWorldOptions {
  /** Of one server, unless `redis` says otherwise. */
  redisUrl?: string;
  /** The section `redis` of the settings. */
  redis?: Readonly<Record<string, unknown>>;
  /** Per tenant; default: one Google calendar. */
  targets?: readonly Family[];
  tenants?: number;
  appointments?: number;
  clinic?: ClinicSandboxOptions;
  google?: GoogleSandboxOptions;
  graph?: GraphSandboxOptions;
  /** Of CalDAV targets; a user of each tenant's name. */
  davServer?: DavServer;
  /** Merged into every target. */
  target?: object;
  /** Of every tenant. */
  reminders?: object;
  /** Of every tenant. */
  triggers?: object;
  /** Merged into the settings. */
  settings?: object;
  /** Merged into the clinic client's registration. */
  clinicClient?: object;
  /** Name no tenant in the tenants' files: the user's only one is meant. */
  unchosenTenant?: boolean;
  /** Which user of the clinic logs in for a tenant; default: its front desk. */
  user?: (clinic: ClinicSandbox, index: number) => Credentials;
}

/** One target, and how to look at it from outside. */
export interface SmallTarget extends Pick<BuiltTarget, 'account' | 'proxy' | 'read'> {
  tenant: string;
  target: string;
  family: Family;
  agendaIds: string[];
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

const PROFILES = fileURLToPath(new URL('../../../config/profiles', import.meta.url));
const ZONE = 'Europe/Rome';

/** Makes accounts and proxies, and what the tenants' files say of them. */
export async function buildTenants(
  options: SmallWorldOptions,
  clinic: ClinicSandbox,
  servers: CalendarServers,
): Promise<Built> {
  const built: Built = { tenants: [], targets: [], files: new Map() };
  for (const [index, { id: clinicId, agendas, user }] of clinic.tenants.entries()) {
    const id = `clinic-${index + 1}`;
    const connections: Record<string, object> = {};
    const targets: Record<string, object> = {};
    for (const [position, family] of (options.targets ?? ['google-calendar']).entries()) {
      const agendaId = agendas[position]?.id ?? '';
      const name = `${family === 'caldav' ? 'room' : 'doctor'}-${position + 1}`;
      const { connection, settings, ...outside } = await buildTarget(family, id, name, servers);
      connections[name] = connection;
      targets[name] = {
        connector: family,
        connection: name,
        agendas: [agendaId],
        window: { pastDays: 10, futureDays: 200 },
        ...options.target,
        settings,
      };
      built.targets.push({ tenant: id, target: name, family, agendaIds: [agendaId], ...outside });
    }
    const agendaIds = agendas.map((agenda) => agenda.id);
    built.tenants.push({ id, clinicId, agendaIds, user: options.user?.(clinic, index) ?? user });
    const source = { client: 'main', ...(options.unchosenTenant === true ? {} : { tenantId: clinicId }) };
    const { reminders, triggers } = options;
    const file = { name: `Clinic ${index + 1}`, language: 'en', zone: ZONE, clinic: source, connections, targets };
    built.files.set(id, {
      ...file,
      ...(reminders === undefined ? {} : { reminders }),
      ...(triggers === undefined ? {} : { triggers }),
    });
  }
  return built;
}

/** The servers that are registered with. */
export interface Sandboxes {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
}

/** What the configuration refers to by name. */
export function secretsFor({ clinic, google, graph }: Sandboxes): Record<string, string> {
  return {
    CLINIC_MIRROR_IDENTITY_KEY: Buffer.alloc(32, 1).toString('base64'),
    CLINIC_MIRROR_SEALING_KEY: Buffer.alloc(32, 2).toString('base64'),
    CLINIC_CLIENT_SECRET: clinic.clients[0]?.clientSecret ?? '',
    GOOGLE_CLIENT_SECRET: google.client.clientSecret,
    MICROSOFT_CLIENT_SECRET: graph.application.clientSecret ?? '',
    ...Object.fromEntries(RADICALE_USERS.map(({ name, password }) => [tenantVariable(name, 'DAV_PASSWORD'), password])),
  };
}

/** Writes the settings, the clinic profile and the tenants' files. */
export async function writeConfiguration(
  configDir: string,
  options: SmallWorldOptions,
  { files }: Built,
  { clinic, google, graph, clinicUrl, entraUrl }: Sandboxes & { clinicUrl: string; entraUrl: string },
): Promise<void> {
  const profile = options.clinic?.dialect ?? 'documented';
  const settings = {
    redis: options.redis ?? { url: { env: 'REDIS_URL' } },
    tokens: { confirmRefusalAfterSeconds: 1 },
    operator: { port: 0 },
    outbound: ON_THIS_MACHINE,
    secrets: {
      identityKey: { env: 'CLINIC_MIRROR_IDENTITY_KEY' },
      sealingKeys: [{ id: 'k1', key: { env: 'CLINIC_MIRROR_SEALING_KEY' } }],
    },
    clinicClients: {
      main: {
        profile,
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
    microsoftClients: {
      main: {
        authority: entraUrl,
        clientId: graph.application.clientId,
        clientSecret: { env: 'MICROSOFT_CLIENT_SECRET' },
      },
    },
    schedule: { pullEverySeconds: 10, tokenCheckEverySeconds: 10 },
    ...options.settings,
  };
  await mkdir(join(configDir, 'tenants'), { recursive: true });
  await mkdir(join(configDir, 'profiles'), { recursive: true });
  await writeFile(join(configDir, 'clinic-mirror.yaml'), stringify(settings));
  await copyFile(join(PROFILES, `${profile}.yaml`), join(configDir, 'profiles', `${profile}.yaml`));
  for (const [tenant, content] of files) {
    await writeFile(join(configDir, 'tenants', `${tenant}.yaml`), stringify(content));
  }
}
