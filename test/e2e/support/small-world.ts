import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Comparison, compare } from '../../../demo/compare.ts';
import {
  authorizeInBrowser,
  type ClinicSandbox,
  type Credentials,
  startClinicSandbox,
} from '../../../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { type GraphSandbox, startGraphSandbox } from '../../../sandbox/graph/index.ts';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { type Composition, compose } from '../../../src/composition/compose.ts';
import { createLoginServices } from '../../../src/composition/operator-services.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { acceptAccount, loginWithBrowser } from '../../../src/control/logins.ts';
import type { SyncResult } from '../../../src/control/sync.ts';
import { syncTenant } from '../../../src/control/sync.ts';
import { reminderChannels } from '../../../src/features/reminders/channels/registry.ts';
import { type Logger, silentLogger } from '../../../src/log/logger.ts';
import { loadConfiguration } from '../../../src/settings/configuration-files.ts';
import { paced } from '../../support/pace.ts';
import { type Ran, runHere } from './run-command.ts';
import {
  type Built,
  buildTenants,
  type SmallTarget,
  type SmallTenant,
  type SmallWorldOptions,
  secretsFor,
  writeConfiguration,
} from './small-configuration.ts';
import { emptyDavServer } from './small-targets.ts';

/** A clinic, its targets and a configuration that joins them; the product runs in this process or as its own. */
export interface SmallWorld {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
  /** The product reaches the clinic's API through it, but not the authorization server. */
  clinicProxy: FaultProxy;
  /** The product reaches Microsoft's logins through it. */
  entraProxy: FaultProxy;
  tenants: SmallTenant[];
  targets: SmallTarget[];
  clinicTenants: ReadonlyMap<string, string>;
  configDir: string;
  env: Record<string, string>;
  dir: string;
  /** Opens the product in this process; closed with the world. */
  open(log?: Logger): Composition;
  /** The one that `logIn` and `cycle` use. */
  opened(): Composition;
  /** Logs in to the clinic and to every account of a tenant, or of all. */
  logIn(options?: LogInOptions): Promise<void>;
  /** One whole cycle in this process. */
  cycle(tenant?: string): Promise<SyncResult>;
  /** A command, in this process. */
  cli(...args: string[]): Promise<Ran>;
  /** Every target against the clinic. */
  compareAll(): Promise<Comparison[]>;
  close(): Promise<void>;
}

/** Who logs in where, and what they allow. */
export interface LogInOptions {
  tenant?: string;
  connections?: string[];
  /** Whose calendars; default: those of the target's own account. */
  account?: string;
  clinicScopes?: string[];
  googleScopes?: string[];
}

/** Starts a small world. Nobody is logged in yet. */
export async function startSmallWorld(options: SmallWorldOptions): Promise<SmallWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-e2e-'));
  const [clinic, google, graph] = await Promise.all([
    startClinic(options),
    startGoogleSandbox(options.google),
    startGraphSandbox(options.graph),
  ]);
  const { davServer } = options;
  const [clinicProxy, entraProxy] = await Promise.all([startFaultProxy(clinic.baseUrl), startFaultProxy(graph.url)]);
  if (davServer !== undefined) await emptyDavServer(davServer);
  const built = await buildTenants(options, clinic, { google, graph, davServer });
  const configDir = join(dir, 'config');
  const urls = { clinicUrl: clinicProxy.url, entraUrl: entraProxy.url };
  await writeConfiguration(configDir, options, built, { clinic, google, graph, ...urls });
  const env = { REDIS_URL: options.redisUrl ?? '', ...secretsFor({ clinic, google, graph }) };
  return openWorld({ clinic, google, graph, clinicProxy, entraProxy, configDir, env, dir }, built);
}

function startClinic(options: SmallWorldOptions): Promise<ClinicSandbox> {
  return startClinicSandbox({
    tenants: options.tenants ?? 1,
    appointments: options.appointments ?? 40,
    agendas: options.targets?.length ?? 1,
    pastDays: 5,
    futureDays: 60,
    ...options.clinic,
  });
}

type Servers = Pick<
  SmallWorld,
  'clinic' | 'google' | 'graph' | 'clinicProxy' | 'entraProxy' | 'configDir' | 'env' | 'dir'
>;

function openWorld(servers: Servers, { tenants, targets }: Built): SmallWorld {
  const { clinic, google, graph, clinicProxy, entraProxy, configDir, env, dir } = servers;
  const compositions: Composition[] = [];
  const open = (log: Logger = silentLogger) => {
    const configuration = loadConfiguration({ dir: configDir, env, connectors, reminderChannels, mode: 'strict' });
    const composition = compose({ configuration, log, priority: 'interactive' });
    compositions.push(composition);
    // What is tried again is tried again as soon as the rules allow.
    for (const { tenant } of composition.composed.values()) {
      tenant.random = () => 0;
      // Any later cycle is a second look at what was missed.
      tenant.missedForMs = 0;
    }
    return composition;
  };
  const used = () => compositions[0] ?? open();
  const clinicTenants = new Map(tenants.map(({ id, clinicId }) => [id, clinicId]));
  const world: SmallWorld = {
    ...servers,
    tenants,
    targets,
    clinicTenants,
    open,
    opened: used,
    logIn: (given = {}) => logInAll(used(), world, given),
    cycle: (tenant = tenants[0]?.id ?? '') => cycle(used(), tenant),
    cli: (...args) => runHere({ configDir, env }, args),
    compareAll: () => Promise.all(targets.map((target) => compare({ clinic, clinicTenants }, target))),
    async close() {
      await Promise.all(compositions.map((composition) => composition.close()));
      await Promise.all([clinicProxy, entraProxy, ...targets.map(({ proxy }) => proxy)].map((proxy) => proxy.close()));
      await Promise.all([clinic.close(), google.close(), graph.close()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
  return world;
}

async function logInAll(composition: Composition, world: SmallWorld, options: LogInOptions): Promise<void> {
  for (const { id, user } of world.tenants) {
    if (options.tenant !== undefined && options.tenant !== id) continue;
    const accounts = world.targets.filter(({ tenant, account }) => tenant === id && account !== '');
    for (const connection of options.connections ?? ['clinic', ...accounts.map(({ target }) => target)]) {
      const target = accounts.find((each) => each.target === connection);
      const visits: Promise<unknown>[] = [];
      const visit = async (url: string) => {
        const back = target === undefined ? visitClinic(url, user, options) : visitAccount(world, url, target, options);
        await (await fetch(await back)).text();
      };
      const desk = createLoginServices(composition);
      const signal = AbortSignal.timeout(paced(60_000));
      const login = await loginWithBrowser(desk, { tenant: id, connection }, (url) => visits.push(visit(url)), signal);
      // An operator says at once that another account is meant.
      if (login.isUnconfirmed)
        await acceptAccount(desk, { tenant: id, connection }, login.account?.subject ?? 'unknown', signal);
      await Promise.all(visits);
    }
  }
}

function visitClinic(url: string, user: Credentials, { clinicScopes: scopes }: LogInOptions): Promise<string> {
  return authorizeInBrowser(url, { ...user, ...(scopes === undefined ? {} : { scopes }) });
}

function visitAccount(
  { google, graph }: SmallWorld,
  url: string,
  target: SmallTarget,
  { account = target.account, googleScopes: scopes }: LogInOptions,
): Promise<string> {
  if (target.family === 'outlook-calendar') return graph.authorizeInBrowser(url, { account });
  return google.authorizeInBrowser(url, { account, ...(scopes === undefined ? {} : { scopes }) });
}

function cycle(composition: Composition, tenant: string): Promise<SyncResult> {
  const signal = new AbortController().signal;
  return syncTenant(composition.installation, tenant, { progress: () => {}, signals: { stop: signal, abort: signal } });
}
