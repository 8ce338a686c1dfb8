import { appendFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { type GraphSandbox, startGraphSandbox } from '../../../sandbox/graph/index.ts';
import type { FaultProxy, ProxiedAnswer, ProxiedRequest } from '../../../sandbox/kit/fault-proxy.ts';
import { type SmsSandbox, startSmsSandbox } from '../../../sandbox/sms/index.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import { startHubSpotSide } from '../crm/hubspot.ts';
import { startSalesforceSide } from '../crm/salesforce.ts';
import type { CrmSide } from '../crm/side.ts';
import { AwaitHub } from './awaits.ts';
import { type ClinicDesk, openClinicDesk } from './clinic-desk.ts';
import { type TenantFile, writeConfiguration } from './configuration.ts';
import { type DaemonPlace, openDaemonPlaces, ownerOf } from './daemons.ts';
import { openHttpGate } from './http-gate.ts';
import type { Park } from './park.ts';
import { openRedisGate, type RedisGate } from './redis-gate.ts';
import { openRedisGroupHouse } from './redis-group-house.ts';
import { openLoneRedis, type RedisHouse } from './redis-house.ts';
import { remindersOf, secretsOf, settingsOf } from './settings.ts';
import {
  type BuiltTarget,
  type CalendarServers,
  type CalendarTarget,
  caldavTarget,
  googleTarget,
  graphTarget,
  type OpenGate,
} from './targets.ts';

/** A login that a person makes. */
export interface Login {
  tenant: string;
  connection: string;
  kind: 'clinic' | 'google' | 'microsoft';
  username: string;
  password: string;
}

/** What the clinic answers in place of the truth; null for what it tells truly. */
export type Lie = (request: ProxiedRequest, answer: ProxiedAnswer) => Promise<ProxiedAnswer | null>;

/** A tenant's CRM. */
export interface Crm {
  tenant: string;
  side: CrmSide;
}

/** Everything of one run. */
export interface World {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
  sms: SmsSandbox;
  radicale: PrivateDavServer | null;
  redis: RedisHouse;
  /** The operator's way to Redis: no faults, and always to the server that is in charge. */
  operatorGate: RedisGate;
  hub: AwaitHub;
  tenants: ReadonlyMap<string, ClinicDesk>;
  targets: CalendarTarget[];
  crms: Crm[];
  logins: Login[];
  /** Told in order; the first that has something to say is heard. */
  lies: Set<Lie>;
  daemons: readonly DaemonPlace[];
  /** The last Authorization header by tenant of the clinic. */
  clinicTokens: Map<string, string>;
  /** Every address that a daemon asked, with its method. */
  addresses: Set<string>;
  configDir: string;
  /** What the daemons keep outside Redis. */
  dataDirectory: string;
  logFile: string;
  env: Record<string, string>;
  /** Writes into the daemons' log what the harness does, so that both are read together. */
  note(what: string, details?: object): void;
  close(): Promise<void>;
}

/** What a script says of its world. */
export interface WorldOptions {
  seed: number;
  daemons: number;
  /** The clinic's tokens end soon, so that they are refreshed all the time. */
  shortTokens: boolean;
  /** Pages are tiny, and requests few. */
  scarce: boolean;
  /** A safety that the daemons run without. */
  without: string | null;
}

/** The daemon's tenants, and what begins every surname there. */
const TENANTS = { aurora: 'Qzxa', belvedere: 'Qzxb' } as const;
/** Users of the CalDAV server. */
export const DAV_USERS = Object.keys(TENANTS).map((name) => ({ name, password: 'chaos-dav-password' }));

/** Patients who have a namesake with their address in the CRM, whom people made there. */
const TWINS = [4, 8] as const;
const WINDOW = { pastDays: 10, futureDays: 80 };
const PER_AGENDA = 9;
/** By so much the second clinic's appointments begin later. */
const LATER_MS = 10 * 60_000;
/** An access token that ends so soon is refreshed every few seconds: the margin is 30 s. */
const SHORT_TOKEN_SECONDS = 34;

/** Starts the servers and writes a configuration. Nobody is logged in, no daemon runs. */
export async function openWorld(park: Park, options: WorldOptions): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-chaos-'));
  const servers = await startServers(park, options);
  const { clinic, google, graph, sms, redis } = servers;
  const wire = openWire(servers);
  const clinicGate = await wire.openGate('clinic', clinic.baseUrl);
  const smsGate = await wire.openGate('sms', sms.url);
  const built = await buildTenants({ ...servers, smsUrl: smsGate.url, openGate: wire.openGate });
  const configDir = join(dir, 'config');
  const named = {
    ...{ clinic, google, graph, sms, redis, clinicUrl: clinicGate.url, pace: park.pace, scarce: options.scarce },
    dataDirectory: join(dir, 'data'),
  };
  const settings = Object.assign({}, settingsOf(named), ...built.crms.map(({ side }) => side.settings));
  await writeConfiguration(configDir, settings, built.files, options.scarce ? 'scarce' : 'usual');
  const ofTenants = DAV_USERS.flatMap(({ name, password }) => [
    [tenantVariable(name, 'DAV_PASSWORD'), password],
    [tenantVariable(name, 'SMS_TOKEN'), sms.authToken],
  ]);
  const env: Record<string, string> = Object.assign(
    Object.fromEntries(ofTenants),
    secretsOf(named, options.seed),
    ...built.crms.map(({ side }) => side.env),
  );
  const logFile = join(dir, 'daemons.log');
  const redisPort = () => redis.port;
  const { daemons: count, without } = options;
  const { compileCache } = park;
  const places = { count, hub: wire.hub, redisPort, configDir, env, logFile, without, compileCache };
  wire.daemons.push(...(await openDaemonPlaces(places)));
  const operatorGate = await openRedisGate({ port: redisPort });
  return {
    ...{ ...servers, ...wire, ...built, operatorGate, configDir, logFile, env, dataDirectory: named.dataDirectory },
    note: (what, details = {}) =>
      appendFileSync(logFile, `${JSON.stringify({ time: new Date().toISOString(), chaos: what, ...details })}\n`),
    async close() {
      await Promise.all(wire.daemons.map((daemon) => daemon.kill()));
      await Promise.all([operatorGate, ...wire.gates, ...wire.daemons.map(({ gate }) => gate)].map((g) => g.close()));
      await Promise.all(built.crms.map(({ side }) => side.close()));
      await Promise.all([clinic.close(), google.close(), graph.close(), sms.close(), redis.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

type Servers = Pick<World, 'clinic' | 'google' | 'graph' | 'sms' | 'redis' | 'radicale'>;

async function startServers(
  { radicale, redisServer, redis }: Park,
  { seed, shortTokens }: WorldOptions,
): Promise<Servers> {
  const [clinic, google, graph, sms, house] = await Promise.all([
    startClinicSandbox({
      tenants: Object.keys(TENANTS).map((name) => ({ name, patients: 0, appointments: 0 })),
      agendas: 3,
      seed,
      allowReopen: true,
      allowDoubleBooking: true,
      ...(shortTokens ? { accessTokenLifetimeSeconds: SHORT_TOKEN_SECONDS } : {}),
    }),
    startGoogleSandbox(),
    startGraphSandbox(),
    startSmsSandbox(),
    redis === 'one' ? openLoneRedis(redisServer) : openRedisGroupHouse(redis, Object.keys(TENANTS), redisServer),
  ]);
  if (radicale !== null) await emptyRadicale(radicale);
  return { clinic, google, graph, sms, redis: house, radicale };
}

async function emptyRadicale({ url, users }: PrivateDavServer): Promise<void> {
  for (const { name, password } of users) {
    const authorization = `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`;
    await fetch(`${url}/${name}/`, { method: 'DELETE', headers: { authorization } });
  }
}

/** All that lies between the daemons and the servers. */
function openWire({ radicale }: Servers) {
  const hub = new AwaitHub();
  const lies = new Set<Lie>();
  const addresses = new Set<string>();
  const clinicTokens = new Map<string, string>();
  const daemons: DaemonPlace[] = [];
  const gates: FaultProxy[] = [];
  const pidOf = (port: number) =>
    ownerOf(
      port,
      daemons.flatMap((daemon) => daemon.pid() ?? []),
    );
  const lie: Lie = async (request, answer) => {
    for (const each of lies) {
      const told = await each(request, answer);
      if (told !== null) return told;
    }
    return null;
  };
  const openGate: OpenGate = async (service, server, watch) => {
    const gate = await openHttpGate(server, {
      ...{ service, hub, pidOf },
      ...(service === 'clinic' ? { lie } : {}),
      async watch(request) {
        // The names of users and calendars at the CalDAV server are its own.
        const [, clinicId] = /\/tenants\/([^/?]+)/.exec(request.url) ?? [];
        if (clinicId !== undefined) clinicTokens.set(clinicId, request.headers.authorization ?? '');
        addresses.add(`${service} ${request.method} ${request.url.replace(radicale?.url ?? '', '')}`);
        return watch?.(request) ?? null;
      },
    });
    gates.push(gate);
    return gate;
  };
  return { hub, lies, addresses, clinicTokens, daemons, gates, openGate };
}

interface TenantParts extends CalendarServers, Pick<Servers, 'clinic' | 'sms'> {
  smsUrl: string;
}

async function buildTenants(parts: TenantParts) {
  const tenants = new Map<string, ClinicDesk>();
  const targets: CalendarTarget[] = [];
  const crms: Crm[] = [];
  const logins: Login[] = [];
  const files = new Map<string, TenantFile>();
  for (const [index, [tenant, mark]] of Object.entries(TENANTS).entries()) {
    const source = parts.clinic.tenants[index];
    if (source === undefined) throw new Error('the sandbox clinic lacks a tenant');
    const desk = openClinicDesk(parts.clinic, source, { mark, perAgenda: PER_AGENDA, lateMs: index * LATER_MS });
    tenants.set(tenant, desk);
    const { username, password } = source.user;
    logins.push({ tenant, connection: 'clinic', kind: 'clinic', username, password });
    const file: TenantFile = {
      ...{ name: tenant, language: 'it', zone: 'Europe/Rome', clinic: { client: 'main', tenantId: source.id } },
      ...{ connections: {}, targets: {}, reminders: remindersOf(parts.sms, parts.smsUrl, tenant) },
    };
    for (const [position, agendaId] of desk.agendaIds.entries()) {
      const { name, built } = await buildCalendar(tenant, position, parts);
      const rules = { agendaIds: [agendaId], window: WINDOW };
      targets.push({ tenant, target: name, rules, ...built.calendar });
      if (built.login !== null) logins.push({ tenant, connection: name, password: '', ...built.login });
      file.connections[name] = built.connection;
      file.targets[name] = {
        ...{ connector: built.connector, connection: name, agendas: [agendaId], window: WINDOW },
        ...{ title: 'full', titleReason: 'each event is known by its patient', settings: built.settings },
      };
    }
    const open = (service: 'hubspot' | 'salesforce') => (server: string) => parts.openGate(service, server);
    const side = await (index === 0
      ? startHubSpotSide(open('hubspot'), tenant)
      : startSalesforceSide(open('salesforce')));
    side.addStrangers([...parts.clinic.patients(desk.tenantId)].slice(...TWINS));
    Object.assign(file.connections, side.connections);
    Object.assign(file.targets, side.targets);
    crms.push({ tenant, side });
    files.set(tenant, file);
  }
  return { tenants, targets, crms, logins, files };
}

/** The first doctor is at Google, the second at Microsoft, the room at the CalDAV server where there is one. */
async function buildCalendar(
  tenant: string,
  position: number,
  parts: TenantParts,
): Promise<{ name: string; built: BuiltTarget }> {
  if (position === 1) return { name: 'doctor-2', built: await graphTarget(tenant, 'doctor-2', parts) };
  if (position === 0) return { name: 'doctor-1', built: await googleTarget(tenant, 'doctor-1', parts) };
  const build = parts.radicale === null ? googleTarget : caldavTarget;
  return { name: 'room', built: await build(tenant, 'room', parts) };
}
