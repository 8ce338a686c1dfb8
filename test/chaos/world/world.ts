import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { clientSecretsOf, keysOf, registeredSettings, writeConfiguration } from '../../../demo/configuration.ts';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { type GraphSandbox, startGraphSandbox } from '../../../sandbox/graph/index.ts';
import type { FaultProxy, ProxiedAnswer, ProxiedRequest } from '../../../sandbox/kit/fault-proxy.ts';
import { type SmsSandbox, startSmsSandbox } from '../../../sandbox/sms/index.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { openBackups } from '../../../src/daemon/backup.ts';
import { type Composition, compose } from '../../../src/daemon/compose.ts';
import { acceptLoss } from '../../../src/features/backup/backups.ts';
import { decideHold, listHolds } from '../../../src/features/holds/holds.ts';
import { reminderChannels } from '../../../src/features/reminders/channels/registry.ts';
import { status } from '../../../src/operator/control/status.ts';
import type { Status } from '../../../src/operator/control/status-schemas.ts';
import { loadConfiguration } from '../../../src/settings/configuration-files.ts';
import { tenantVariable } from '../../../src/settings/tenant-secrets.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import { startRadicale } from '../../../tools/radicale.ts';
import { resolveRedisServer } from '../../../tools/redis.ts';
import type { ServerCommand } from '../../../tools/server-command.ts';
import { logInTo } from '../../support/log-in.ts';
import '../../support/redis-date-preload.ts';
import { AwaitHub, openHttpGate, openRedisGate, type RedisGate } from './gates.ts';
import {
  type DaemonPlace,
  openDaemonPlaces,
  openLoneRedis,
  openRedisGroupHouse,
  ownerOf,
  type RedisHouse,
} from './processes.ts';
import {
  buildTenants,
  type CalendarTarget,
  type ClinicDesk,
  type Crm,
  DAV_USERS,
  type Login,
  type OpenGate,
  TENANTS,
} from './tenants.ts';

/** The clinic's false answer; null for the true one. */
export type Lie = (request: ProxiedRequest, answer: ProxiedAnswer) => Promise<ProxiedAnswer | null>;

/** A request to a CalDAV server as something on its way changes it. */
export type Alteration = (request: ProxiedRequest) => ProxiedRequest;

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
  /** Applied in order to each request for the CalDAV server. */
  alterations: Set<Alteration>;
  /** How the clinic answers for a merged patient, by the seed; the profile says the same. */
  merges: 'stub' | 'redirect';
  daemons: readonly DaemonPlace[];
  /** The last Authorization header by tenant of the clinic. */
  clinicTokens: Map<string, string>;
  /** Every URL that a daemon requested, with the method. */
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
  /** The clinic's tokens expire soon, so that daemons refresh them all the time. */
  shortTokens: boolean;
  /** Pages are tiny, and requests few. */
  scarce: boolean;
  /** A safety that the daemons run without. */
  without: string | null;
}

/** An access token that ends so soon is refreshed every few seconds: the margin is 30 s. */
const SHORT_TOKEN_SECONDS = 34;
/** So few that every list is read in several pages, or in many. */
const PAGE_ROWS = { usual: 12, scarce: 3 };
/** Long enough for a worker to keep the lease, short enough for a test to wait for its end. */
const LEASE_TTL_MS = 2_000;
const MOST_PACE = 6;
const SCARCE = { requestsPerMinute: 600, burst: 5 };

/** Starts the servers and writes a configuration. No connection exists and no daemon runs. */
export async function openWorld(park: Park, options: WorldOptions): Promise<World> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-chaos-'));
  const servers = await startServers(park, options);
  const { clinic, google, graph, sms, redis } = servers;
  const wire = openWire(servers);
  const clinicGate = await wire.openGate('clinic', clinic.baseUrl);
  const smsGate = await wire.openGate('sms', sms.url);
  const built = await buildTenants({ ...servers, smsUrl: smsGate.url, openGate: wire.openGate });
  const configDir = join(dir, 'config');
  const dataDirectory = join(dir, 'data');
  const chosen = { clinicUrl: clinicGate.url, dataDirectory, pace: park.pace, scarce: options.scarce };
  const settings = Object.assign({}, settingsOf(servers, chosen), ...built.crms.map(({ side }) => side.settings));
  const pageRows = PAGE_ROWS[options.scarce ? 'scarce' : 'usual'];
  await writeConfiguration(configDir, { settings, files: built.files, pageRows });
  const merges = options.seed % 2 === 0 ? 'stub' : 'redirect';
  await stateMerges(configDir, merges);
  const ofTenants = DAV_USERS.flatMap(({ name, password }) => [
    [tenantVariable(name, 'DAV_PASSWORD'), password],
    [tenantVariable(name, 'SMS_TOKEN'), sms.authToken],
  ]);
  const env: Record<string, string> = Object.assign(
    Object.fromEntries(ofTenants),
    keysFrom(options.seed),
    clientSecretsOf(servers),
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
    ...{ ...servers, ...wire, ...built, merges, operatorGate, configDir, logFile, env, dataDirectory },
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

/** States in the profile how the clinic answers for a merged patient. */
async function stateMerges(configDir: string, merges: World['merges']): Promise<void> {
  const path = join(configDir, 'profiles', 'documented.yaml');
  const profile = parse(await readFile(path, 'utf8')) as { patients: object };
  const merged = merges === 'stub' ? 'mergedInto' : 301;
  await writeFile(path, stringify({ ...profile, patients: { ...profile.patients, merged } }));
}

/** What `clinic-mirror.yaml` says, without CRMs. `pace` is how much busier than idle the host is. */
function settingsOf(
  servers: Servers,
  {
    clinicUrl,
    dataDirectory,
    pace,
    scarce,
  }: { clinicUrl: string; dataDirectory: string; pace: number; scarce: boolean },
): object {
  const budget = scarce ? SCARCE : { requestsPerMinute: 6_000, burst: 500 };
  return {
    ...registeredSettings(servers, { baseUrl: clinicUrl, budget }),
    ...{ redis: servers.redis.settings, dataDirectory },
    schedule: { pullEverySeconds: 10, tokenCheckEverySeconds: 10 },
    tokens: { refreshMarginSeconds: 30 },
    leases: { ttlMs: Math.round(LEASE_TTL_MS * Math.min(pace, MOST_PACE)) },
    log: { level: 'debug' },
  };
}

/** Keys that the settings name, the same for a seed. */
function keysFrom(seed: number): Record<string, string> {
  const [identity, sealing] = ['identity', 'sealing'].map((name) => createHash('sha256').update(`${name} ${seed}`));
  return keysOf(identity?.digest(), sealing?.digest());
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
  const alterations = new Set<Alteration>();
  const alter: Alteration = (request) => [...alterations].reduce((sent, each) => each(sent), request);
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
      ...(service === 'caldav' ? { alter } : {}),
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
  return { hub, lies, alterations, addresses, clinicTokens, daemons, gates, openGate };
}

/** How Redis is kept: as one server, or as several that survive the death of a master. */
export const REDIS_KINDS = ['one', 'sentinel', 'cluster'] as const;

/** One of {@link REDIS_KINDS}. */
export type RedisKind = (typeof REDIS_KINDS)[number];

/** State that several runs use, one world at a time. */
export interface Park {
  /** Null if unavailable: rooms are then at Google. */
  radicale: PrivateDavServer | null;
  redisServer: ServerCommand;
  redis: RedisKind;
  /** A folder in which daemons keep compiled code between starts. */
  compileCache: string;
  /** Slowdown relative to an idle host; measured repeatedly. */
  pace: number;
}

/** Separate parks, whose worlds do not affect each other. */
export interface Parks {
  parks: Park[];
  close(): Promise<void>;
}

/** With nothing compiled yet. */
const USUAL_START_MS = 2_500;
const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));

/** @param say called with the name of each unavailable server */
export async function openParks(count: number, say: (text: string) => void, redis: RedisKind = 'one'): Promise<Parks> {
  const radicales: (PrivateDavServer | null)[] = [];
  // One after the other: the first one may have to be fetched.
  for (let park = 0; park < count; park += 1) {
    const started = await startRadicale({ users: DAV_USERS });
    radicales.push('unavailable' in started ? null : started);
    if ('unavailable' in started) say(`No CalDAV server available, continuing without: ${started.unavailable}`);
  }
  const compileCache = await mkdtemp(join(tmpdir(), 'clinic-mirror-compiled-'));
  // A killed daemon leaves nothing in the compile cache; this daemon exits itself.
  const env = { ...process.env, NODE_COMPILE_CACHE: compileCache };
  const startedAt = performance.now();
  await once(spawn(process.execPath, [CLI, '--help'], { env, stdio: 'ignore' }), 'exit');
  const pace = Math.max(1, (performance.now() - startedAt) / USUAL_START_MS);
  const redisServer = await resolveRedisServer();
  return {
    parks: radicales.map((radicale) => ({ radicale, redisServer, redis, compileCache, pace })),
    async close() {
      await Promise.all(radicales.map((radicale) => radicale?.stop()));
      await rm(compileCache, { recursive: true, force: true });
    },
  };
}

/** The operator of the daemons: the operations of the commands, without a process for each. */
export interface Operator {
  status(): Promise<Status>;
  /** Every tenant is read soon. */
  wake(): Promise<void>;
  /** A target is read back soon. */
  checkTarget(tenant: string, target: string): Promise<void>;
  logIn(login: Login): Promise<void>;
  holds(): ReturnType<typeof listHolds>;
  decide(tenant: string, hold: string, decision: 'approved' | 'rejected'): Promise<void>;
  /** @returns an encrypted copy of the tenant's data that cannot be rebuilt */
  backup(tenant: string): Promise<string>;
  restore(tenant: string, backup: string): Promise<void>;
  /** Confirms that no patient was forgotten and no one opted out. */
  acceptLoss(tenant: string): Promise<void>;
  /** Their clock is so much ahead. */
  setClock(offsetMs: number): void;
  /** After the configuration was changed. */
  reload(): Promise<void>;
  close(): Promise<void>;
}

const LOGIN_TIMEOUT_MS = 20_000;

/** Time has passed for all: a status takes the clock of Redis, which nobody can set, as so much ahead too. */
function inTime(installation: Composition['installation'], offsetMs: number): Composition['installation'] {
  const redis = async () => {
    const readings = await installation.redis();
    return { ...readings, clockAheadMs: readings.clockAheadMs - offsetMs };
  };
  return { ...installation, redis };
}

/** Opens the product for looking and deciding; the daemons are other processes. */
export function openOperator(world: World): Operator {
  let offsetMs = 0;
  const clock = () => Date.now() + offsetMs;
  let composition = open(world, clock);
  const tenants = () => [...composition.installation.tenants.values()];
  return {
    status: () => status(inTime(composition.installation, offsetMs)),
    async wake() {
      for (const { id } of tenants()) await composition.queues.pullNow(id);
    },
    checkTarget: (tenant, target) => composition.queues.checkTarget(tenant, target, { delayMs: 0, whole: true }),
    logIn: (login) => logIn(world, composition, login),
    holds: () => listHolds(composition.installation),
    async decide(tenant, hold, decision) {
      await decideHold(composition.installation, { tenant, hold, decision });
    },
    backup: (tenant) => openBackups(composition).backup(tenant),
    async restore(tenant, backup) {
      await openBackups(composition).restore(tenant, backup);
    },
    async acceptLoss(tenant) {
      await acceptLoss(composition.installation, tenant);
    },
    setClock(ms) {
      offsetMs = ms;
    },
    async reload() {
      await composition.close();
      composition = open(world, clock);
    },
    close: () => composition.close(),
  };
}

function open({ configDir, env, operatorGate }: World, clock: () => number): Composition {
  const configuration = loadConfiguration({
    ...{ dir: configDir, env: { ...env, REDIS_URL: operatorGate.url }, connectors, reminderChannels },
    mode: 'strict',
  });
  return compose({ configuration, log: silentLogger, priority: 'interactive', clock });
}

async function logIn({ google, graph }: World, composition: Composition, login: Login): Promise<void> {
  const { tenant, connection, kind, username, password } = login;
  const persons = {
    clinic: (url: string) => authorizeInBrowser(url, { username, password }),
    google: (url: string) => google.authorizeInBrowser(url, { account: username }),
    microsoft: (url: string) => graph.authorizeInBrowser(url, { account: username }),
  };
  await logInTo(composition, { tenant, connection }, persons[kind], LOGIN_TIMEOUT_MS);
}
