import { type RegisteringServers, registeredSettings } from '../../../demo/configuration.ts';
import type { ClinicSandbox, ClinicSandboxOptions, Credentials } from '../../../sandbox/clinic/index.ts';
import type { GoogleSandboxOptions } from '../../../sandbox/google/index.ts';
import type { GraphSandboxOptions } from '../../../sandbox/graph/index.ts';
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
  /** Used for a single server, unless `redis` is set. */
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

/** A tenant and its clinic. */
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

/** The secrets that tenants' files refer to. */
export function secretsOfTenants(): Record<string, string> {
  return Object.fromEntries(
    RADICALE_USERS.map(({ name, password }) => [tenantVariable(name, 'DAV_PASSWORD'), password]),
  );
}

/** The settings of a small world. */
export function settingsOf(
  options: SmallWorldOptions,
  servers: RegisteringServers,
  { clinicUrl, entraUrl }: { clinicUrl: string; entraUrl: string },
): object {
  const budget = { requestsPerMinute: 6_000, burst: 500 };
  const client = {
    profile: options.clinic?.dialect ?? 'documented',
    baseUrl: clinicUrl,
    budget,
    ...options.clinicClient,
  };
  return {
    ...registeredSettings(servers, client, entraUrl),
    ...(options.redis === undefined ? {} : { redis: options.redis }),
    tokens: { confirmRefusalAfterSeconds: 1 },
    schedule: { pullEverySeconds: 10, tokenCheckEverySeconds: 10 },
    ...options.settings,
  };
}
