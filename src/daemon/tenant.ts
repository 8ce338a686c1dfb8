import type { ClinicContext } from '../clinic/http/call.ts';
import type { CompiledProfile } from '../clinic/schema/profile.ts';
import {
  createTenantSource,
  emptySourceMemory,
  type SourceMemory,
  type TenantMemory,
} from '../clinic/tenant-source.ts';
import { createAppointmentCalls } from '../clinic/write/appointment-calls.ts';
import type { SharedState } from '../connectors/shared-state.ts';
import { createHttpClient, type HttpClient, type HttpObserver, MEBIBYTE } from '../core/http/client.ts';
import { type Logger, noSpans, type Spans } from '../core/log/logger.ts';
import { type CacheBudget, lazily } from '../core/model/cache.ts';
import { type Clock, type ElapsedBetween, HOUR_MS, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import type { ClinicSource } from '../domain/clinic-requests.ts';
import { type ClinicSourceParts, createClinicSource } from '../domain/clinic-source.ts';
import { createClinicTenantStore } from '../domain/clinic-tenant.ts';
import { reminderFollower } from '../features/reminders/plan.ts';
import type { ObserveLag } from '../features/reminders/ports.ts';
import { openTriggers } from '../features/triggers/open.ts';
import type { TriggerSource } from '../features/triggers/ports.ts';
import type { Outages } from '../jobs/outages.ts';
import { isForOthers } from '../settings/common-schemas.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { OPERATORS_REACH, type Purpose, type Reach, reachOf } from '../settings/outbound-schema.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { profileFile } from '../settings/surroundings.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { type BudgetWaiting, LONGEST_PAUSE_MS, openBudgetShare, type Priority } from '../state/budget.ts';
import { type ConfigVersion, leasesUnder } from '../state/config-version.ts';
import { createLeases } from '../state/leases.ts';
import type { Processes } from '../state/processes.ts';
import type { AwaitDurable, RedisClient } from '../state/redis.ts';
import { createProofSealer, createSealer, type Sealer, type SealingKey } from '../state/sealing.ts';
import type { StateCounter } from '../state/state-counter.ts';
import type { OpenTenant } from '../tenant/tenant.ts';
import type { WorkQueues } from '../tenant/work-queues.ts';
import { openConnections } from './connections.ts';
import { type CredentialStore, createCredentialStore } from './credentials.ts';
import { type ConnectionParts, type OpenConnection, requireEntry } from './open-connection.ts';
import { timeByRedis } from './redis-readings.ts';
import { openReminders, type ReminderParts } from './reminders.ts';
import { type Connectors, openNotifications, openTargets, scopesOfTargets } from './targets.ts';
import { openTenantStores, type TenantCache } from './tenant-stores.ts';

/** A tenant's clinic, by purpose. Sends nothing, and opens each part at first use. */
export interface TenantClinic {
  /** For automatic work of the process. */
  background(): ClinicSource;
  /** For requests with a waiting user, before the daemon's own requests, such as a wave of reminders. */
  prompt(): ClinicSource;
  /** For triggers, within the connection's own share of the budget. */
  forTriggers(): TriggerSource;
  /**
   * Verifies the owner of an access token before the connection is stored: the user must belong to the selected clinic tenant.
   * @throws MirrorError as `chooseTenant`, and the API's
   */
  verifyLogin(accessToken: string, signal: AbortSignal): Promise<void>;
}

/** Dependencies of a tenant's clinic. */
export interface TenantClinicParts {
  configuration: Pick<Configuration, 'settings' | 'profiles'>;
  tenant: TenantConfiguration;
  /** By profile. */
  compiled: ReadonlyMap<string, CompiledProfile>;
  /** The clinic connection. */
  connection: OpenConnection;
  credentials: Pick<CredentialStore, 'recent'>;
  /** Cached knowledge from an earlier opening. */
  source: SourceMemory;
  redis: RedisClient;
  /** Encrypts with the identity key. */
  proofs: Sealer;
  http: HttpClient;
  priority: Priority;
  /** See `BudgetWaiting`. */
  whileInLine?: BudgetWaiting['whileInLine'];
  clock: Clock;
  log: Logger;
}

function openTenantClinic(parts: TenantClinicParts): TenantClinic {
  const { configuration, tenant, connection, redis, http, clock, log, source, whileInLine } = parts;
  const client = requireEntry(configuration.settings.clinicClients, tenant.clinic.client);
  const memory = tenantMemory(parts);
  // A cycle waits for the pause, because giving up would mean fetching its pages again; other callers return later.
  const share = (priority: Priority, pauseWaitMs?: number) =>
    openBudgetShare(
      redis,
      { budget: `clinic-${client.clientId}`, participant: tenant.id, limits: client.budget, priority },
      {
        pauseWaitMs,
        whileInLine,
      },
    );
  const context: ClinicContext = {
    profile: requireEntry(configuration.profiles, client.profile),
    profileFile: profileFile(client.profile),
    compiled: requireEntry(parts.compiled, client.profile),
    pagings: source.pagings,
    baseUrl: client.baseUrl,
    http,
    budget: share(parts.priority, LONGEST_PAUSE_MS),
    authorization: connection.authorizer(CLINIC_CONNECTION),
    clock,
    log,
  };
  return {
    background: lazily(() => openClinic(tenant, memory, context, source)),
    prompt: lazily(() => openClinic(tenant, memory, { ...context, budget: share('interactive') })),
    forTriggers: () => openClinic(tenant, memory, { ...context, budget: connection.budget }),
    async verifyLogin(accessToken, signal) {
      const header = async () => `Bearer ${accessToken}`;
      const own = { pagings: new Map(), authorization: { header, renew: header } };
      const login = { ...context, ...own, budget: share('interactive') };
      await openClinic(tenant, memory, login).tenantId(signal);
    },
  };
}

/** Stores in Redis the owner of the connection and the selected clinic tenant. */
function tenantMemory({
  tenant,
  redis,
  credentials,
  proofs,
}: Pick<TenantClinicParts, 'tenant' | 'redis' | 'credentials' | 'proofs'>): TenantMemory {
  const bound = createClinicTenantStore(redis, tenant.id, proofs);
  return {
    loggedInAt: async () => (await credentials.recent(CLINIC_CONNECTION))?.obtainedAt ?? null,
    workedIn: bound.read,
    bind: bound.bind,
  };
}

function openClinic(
  { clinic }: TenantConfiguration,
  memory: TenantMemory,
  context: ClinicContext,
  own: SourceMemory = emptySourceMemory(),
): ClinicSource & TriggerSource {
  const source = createTenantSource(context, clinic.tenantId, memory, own);
  const { setStatus } = createAppointmentCalls(context);
  return {
    ...source,
    async setStatus(id, status, signal) {
      await source.within((tenantId) => setStatus(tenantId, id, { status }, signal), signal);
    },
  };
}

const USER_AGENT = 'clinic-mirror';
/**
 * A record must be missing in two fetches that are half a cycle interval apart. The next cycle therefore counts even if slightly early, and
 * a repeated command does not. With long intervals, a command after this time counts.
 */
const LONGEST_MISS_MS = 5 * MINUTE_MS;
/** A tenant with its connections. */
export interface ComposedTenant {
  tenant: OpenTenant;
  connections: ReadonlyMap<string, OpenConnection>;
  credentials: CredentialStore;
  sealer: Sealer;
  /** See `TenantClinic.prompt`. */
  promptClinic: ClinicSource;
  verifyClinicLogin: TenantClinic['verifyLogin'];
}

/** Options of a process for its tenants. */
export interface TenantOptions {
  /** The current configuration, which can be replaced. */
  configuration: Configuration;
  log: Logger;
  /** `interactive`: a user waits for the result. */
  priority: Priority;
  observe?: HttpObserver;
  /** Default: no tracing. */
  spans?: Spans;
  /** See `BudgetWaiting`. */
  whileInLine?: BudgetWaiting['whileInLine'];
  /** Reports the delay of each sent reminder. */
  observeLag?: ObserveLag;
}

/** Dependencies shared by all tenants of a process. */
export interface Shared extends TenantOptions {
  configVersions: ReadonlyMap<string, ConfigVersion>;
  connectors: Connectors;
  remotes: SharedState;
  room: CacheBudget;
  /** By profile. */
  compiled: ReadonlyMap<string, CompiledProfile>;
  clock: Clock;
  elapsedBetween: ElapsedBetween;
  redis: RedisClient;
  writer: RedisClient;
  awaitDurable: AwaitDurable;
  stateCounter: StateCounter;
  ring: SealingKey[];
  queues: WorkQueues;
  outages: Outages;
  processes: Processes;
}

/** Reads single records. Opens the clinic with the first call. */
function recordReaders({
  background,
}: {
  background(): ClinicSource;
}): Pick<ClinicSource, 'readAppointment' | 'readPatient'> {
  return {
    readAppointment: (id, signal) => background().readAppointment(id, signal),
    readPatient: (id, signal) => background().readPatient(id, signal),
  };
}

/** Opens the source of a tenant's cycles. Opens the clinic with the first reading. */
function openSource(
  parts: Omit<ClinicSourceParts, 'clinic'>,
  { background }: Pick<TenantClinic, 'background'>,
): OpenTenant['source'] {
  return createClinicSource({
    ...parts,
    get clinic() {
      return background();
    },
  });
}

/** Opens a tenant: connections, stores, clinic and targets. */
export function composeTenant(tenant: TenantConfiguration, cache: TenantCache, shared: Shared): ComposedTenant {
  const { configuration, clock, elapsedBetween, redis, queues } = shared;
  const { settings } = configuration;
  const log = shared.log.child({ tenant: tenant.id });
  const { http, httpFor, httpOf } = openWays(shared);
  const sealer = createSealer(shared.ring, tenant.id);
  const leases = createLeases(redis, tenant.id, settings.leases.ttlMs, shared.processes);
  const configVersion = requireEntry(shared.configVersions, tenant.id);
  const identityKey = settings.secrets.identityKey.reveal();
  const proofs = createProofSealer(identityKey, tenant.id);
  const { credentials, connections } = openLogins(tenant, { sealer, leases, http, log }, shared);
  const stores = openTenantStores({
    ...{ tenant, redis, sealer, proofs, identityKey, sharedCaches: cache, clock },
    journalRetentionDays: settings.journal.keepDays,
    limitBytes: Math.min(settings.limits.tenantMebibytes, tenant.limits.tenantMebibytes ?? Infinity) * MEBIBYTE,
  });
  const clinic = openTenantClinic({
    ...shared,
    ...{ tenant, credentials, proofs, http, log },
    connection: requireEntry(connections, CLINIC_CONNECTION),
    source: cache.source,
  });
  const { connectors, remotes } = shared;
  const parts = {
    ...{ tenant: tenant.formerly ?? tenant.id, zone: tenant.zone, identityKey, identity: shared.stateCounter.identity },
    ...{ connectors, remotes, httpOf, log, clock, connections, feeds: stores.feeds },
  };
  const reminders = remindersOf(tenant, { identityKey, httpFor, log, protection: stores.protection }, shared);
  const planning = { configuration: tenant, log, clock, ...recordReaders(clinic) };
  const targets = openTargets(tenant, cache.targets, parts);
  const followers = reminders === null ? [] : [reminderFollower({ ...stores, ...planning, reminders })];
  const [bounds, memory] = [boundsOfWork(settings), cache.memory];
  const reading = { configuration: tenant, targets, followers, memory, runs: stores.runs, log, clock, ...bounds };
  return {
    connections,
    credentials,
    sealer,
    get promptClinic() {
      return clinic.prompt();
    },
    verifyClinicLogin: clinic.verifyLogin,
    tenant: {
      id: tenant.id,
      configuration: tenant,
      get clinic() {
        return clinic.background();
      },
      source: openSource({ ...reading, outages: shared.outages }, clinic),
      ...{ targets, ...stores, ...bounds, memory, reminders, followers },
      leases: leasesUnder(configVersion, leases, () =>
        log.error(
          {},
          'tenant was left to a process with a newer configuration until this process has the same configuration',
        ),
      ),
      notifications: openNotifications({ ...parts, redis, id: tenant.id, proofs }, settings.notifications.url ?? null),
      triggers: openTriggers({
        ...{ tenant, identityKey, redis, sealer, queues },
        http: httpOf.webhooks,
        openSource: clinic.forTriggers,
      }),
      configVersion,
      outages: shared.outages,
      ...{ elapsedBetween, log, clock },
      spans: shared.spans ?? noSpans,
      sharedTime: timeByRedis(redis, clock),
      random: Math.random,
    },
  };
}

/** Opens the HTTP clients for servers in the operator's settings and for servers of tenants. */
function openWays(shared: Shared) {
  const { outbound } = shared.configuration.settings;
  const httpFor = (reach: Reach) => openHttp(shared, reach);
  const to = (purpose: Purpose) => httpFor(reachOf(outbound, purpose));
  return {
    http: httpFor(OPERATORS_REACH),
    httpFor,
    httpOf: { calendars: to('calendars'), crms: to('crms'), webhooks: to('webhooks') },
  };
}

function openHttp({ configuration, clock, observe, outages, spans }: Shared, reach: Reach): HttpClient {
  const propagatesTrace = configuration.settings.telemetry?.tellOthers ?? false;
  return createHttpClient({
    ...{ userAgent: USER_AGENT, clock, reach, observeHost: outages.heard },
    ...(observe === undefined ? {} : { observe }),
    ...(spans === undefined ? {} : { spans, sendsTrace: propagatesTrace }),
  });
}

/** Opens a tenant's connections and their store. */
function openLogins(
  tenant: TenantConfiguration,
  parts: Pick<ConnectionParts, 'leases' | 'http' | 'log'> & { sealer: Sealer },
  shared: Shared,
): Pick<ComposedTenant, 'credentials' | 'connections'> {
  const { configuration, clock, connectors, redis, writer, awaitDurable, whileInLine } = shared;
  const { sealer, leases, http, log } = parts;
  const credentials = createCredentialStore({ redis, writer, awaitDurable, sealer, tenant: tenant.id, log });
  const connections = openConnections({
    configuration,
    tenant,
    credentials,
    leases,
    http,
    budget: (client, limits) =>
      openBudgetShare(
        redis,
        { budget: client, participant: tenant.id, limits, priority: shared.priority },
        { whileInLine },
      ),
    targetScopes: (connection) => scopesOfTargets(tenant, connection, connectors),
    clock,
    log,
  });
  return { credentials, connections };
}

/** Returns the interval of cycles, the validity of their findings, and the maximum writes per lane job. */
function boundsOfWork({ schedule, push }: Settings) {
  const pullEveryMs = schedule.pullEverySeconds * SECOND_MS;
  return {
    pullEveryMs,
    planLifeMs: Math.max(HOUR_MS, 2 * pullEveryMs),
    missedForMs: Math.min(pullEveryMs / 2, LONGEST_MISS_MS),
    slice: { operations: push.sliceOperations, durationMs: push.sliceSeconds * SECOND_MS },
  };
}

function remindersOf(
  tenant: TenantConfiguration,
  own: Pick<ReminderParts, 'identityKey' | 'httpFor' | 'log' | 'protection'>,
  { configuration: { settings }, redis, queues, clock, outages, stateCounter, observeLag = () => {} }: Shared,
) {
  const { publicUrl } = settings.http;
  return openReminders({
    ...own,
    ...{ tenant, redis, queues, clock, heard: outages.heard, observeLag },
    outbound: settings.outbound,
    stateCounter: stateCounter.of(tenant.id, tenant.formerly ?? tenant.id),
    publicUrl: isForOthers(publicUrl) ? publicUrl : null,
  });
}
