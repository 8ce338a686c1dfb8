import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished } from 'vitest';
import { parse, stringify } from 'yaml';
import { type Comparison, compare } from '../../../demo/compare.ts';
import { clientSecretsOf, keysOf, tenantFilePath, writeConfiguration } from '../../../demo/configuration.ts';
import {
  authorizeInBrowser,
  type ClinicSandbox,
  type Credentials,
  startClinicSandbox,
} from '../../../sandbox/clinic/index.ts';
import { type GoogleSandbox, startGoogleSandbox } from '../../../sandbox/google/index.ts';
import { type GraphSandbox, startGraphSandbox } from '../../../sandbox/graph/index.ts';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import { connectors } from '../../../src/connectors/registry.ts';
import { type Logger, silentLogger } from '../../../src/core/log/logger.ts';
import { type Composition, compose } from '../../../src/daemon/compose.ts';
import { createLoginServices } from '../../../src/daemon/operator-services.ts';
import { reminderChannels } from '../../../src/features/reminders/channels/registry.ts';
import { acceptAccount } from '../../../src/operator/control/logins.ts';
import type { SyncResult } from '../../../src/operator/control/status-schemas.ts';
import { syncTenant } from '../../../src/operator/control/sync.ts';
import { loadConfiguration } from '../../../src/settings/configuration-files.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import { createTargetStore } from '../../../src/state/targets.ts';
import { logInTo } from '../../support/log-in.ts';
import { paced } from '../../support/pace.ts';
import '../../support/redis-date-preload.ts';

import { waitFor } from '../../support/wait-for.ts';
import { type Ran, runHere } from './run-command.ts';
import {
  type Built,
  buildTenants,
  type SmallTarget,
  type SmallTenant,
  type SmallWorldOptions,
  secretsOfTenants,
  settingsOf,
} from './small-configuration.ts';
import { emptyDavServer } from './small-targets.ts';

const REDIS_DATE = new URL('../../support/redis-date-preload.ts', import.meta.url).href;

/** A clinic, its targets and a configuration that joins them; the product runs in this process or as its own. */
export interface SmallWorld {
  clinic: ClinicSandbox;
  google: GoogleSandbox;
  graph: GraphSandbox;
  /** The product reaches the clinic's API through it, but not the authorization server. */
  clinicProxy: FaultProxy;
  /** The product reaches Microsoft's sign-in through this proxy. */
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

/** The user of a sign-in, the vendor, and the granted permissions. */
export interface LogInOptions {
  tenant?: string;
  connections?: string[];
  /** Whose calendars; default: those of the target's own account. */
  account?: string;
  clinicScopes?: string[];
  googleScopes?: string[];
}

/** Starts a small world, without any sign-in yet. */
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
  const servers = { clinic, google, graph };
  await writeConfiguration(configDir, {
    settings: settingsOf(options, servers, { clinicUrl: clinicProxy.url, entraUrl: entraProxy.url }),
    files: built.files,
    profile: options.clinic?.dialect ?? 'documented',
  });
  const env = {
    REDIS_URL: options.redisUrl ?? '',
    ...{ ...keysOf(), ...clientSecretsOf(servers), ...secretsOfTenants() },
    // A daemon compares the clock of Redis with its own.
    NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${REDIS_DATE}`,
  };
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
    // Retries happen as soon as the rules allow.
    for (const { tenant } of composition.composed.values()) {
      tenant.random = () => 0;
      // Any later cycle is the second scan of a missing record.
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
      const place = { tenant: id, connection };
      const login = await logInTo(composition, place, (url) =>
        target === undefined ? visitClinic(url, user, options) : visitAccount(world, url, target, options),
      );
      // An operator says at once that another account is meant.
      if (login.isUnconfirmed) {
        const signal = AbortSignal.timeout(paced(60_000));
        await acceptAccount(createLoginServices(composition), place, login.account?.subject ?? 'unknown', signal);
      }
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

/** A small world for one test, everybody logged in; gone when the test ends. */
export async function useSmallWorld(options: SmallWorldOptions): Promise<SmallWorld> {
  const world = await startSmallWorld(options);
  onTestFinished(() => world.close());
  await world.logIn();
  return world;
}

/** What a comparison says when a target shows exactly what the clinic shows. */
export const EXACT = { duplicates: 0, missing: 0 };

/** Every target shows exactly what the clinic shows. */
export async function expectExact(world: SmallWorld, when?: string): Promise<void> {
  const comparisons = await world.compareAll();
  expect(comparisons, when).toEqual(world.targets.map(() => expect.objectContaining(EXACT)));
}

/**
 * Runs cycles like the daemon until a condition holds: a failure is noticed in one cycle and repaired in the next, and a vanished record is
 * missed twice.
 */
export async function cycleUntil(world: SmallWorld, condition: () => Promise<boolean>): Promise<void> {
  const cycleAndLook = async () => {
    await world.cycle();
    return await condition();
  };
  await waitFor(cycleAndLook, { what: 'the calendars to be in sync', intervalMs: 50 });
}

export function isExact({ duplicates, missing }: { duplicates: number; missing: number }): boolean {
  return duplicates === 0 && missing === 0;
}

interface TenantFile {
  targets: Record<string, { title?: string; agendas?: string[] }>;
}

/** The file of a tenant. */
export function tenantFile({ configDir }: Pick<SmallWorld, 'configDir'>, tenant: string): string {
  return tenantFilePath(configDir, tenant);
}

/** Changes a tenant's file as an editor does: a new file replaces the old one. */
export async function editTenant(world: SmallWorld, tenant: string, change: (file: TenantFile) => void): Promise<void> {
  const name = tenantFile(world, tenant);
  const content = parse(await readFile(name, 'utf8')) as TenantFile;
  change(content);
  await writeFile(`${name}.new`, stringify(content));
  await rename(`${name}.new`, name);
}

/** Gives every target of a tenant a title. */
export function retitle(world: SmallWorld, tenant: string, title: 'busy' | 'appointment'): Promise<void> {
  return editTenant(world, tenant, ({ targets }) => {
    for (const target of Object.values(targets)) target.title = title;
  });
}

/** One event as a user of the calendar sees it. */
export interface ShownEvent {
  id: string;
  summary: string;
  location: string | null;
}

/** The events of a tenant's first calendar at Google; none before the calendar exists. */
export async function shownEvents(world: SmallWorld, redis: RedisClient, tenant: string): Promise<ShownEvent[]> {
  const { container } = await createTargetStore(redis, tenant, createProofSealer(Buffer.alloc(32, 1), tenant)).read(
    'doctor-1',
  );
  if (container == null) return [];
  return world.google.events(container).map(({ id, summary, location }) => ({
    ...{ id: String(id), summary: String(summary) },
    location: typeof location === 'string' ? location : null,
  }));
}

/** Lines of a daemon's log with these words. The first sign-in URL is printed to the terminal, not to the log. */
export function logged({ dir }: Pick<SmallWorld, 'dir'>, message: string): Record<string, unknown>[] {
  const lines = readFileSync(join(dir, 'daemon.log'), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{'));
  return lines.flatMap((line) => {
    const entry = JSON.parse(line) as Record<string, unknown>;
    return entry.msg === message ? [entry] : [];
  });
}
