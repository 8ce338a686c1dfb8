import type { CompiledProfile } from '../clinic/schema/profile.ts';
import type { SharedState } from '../connectors/shared-state.ts';
import { reminderFollower } from '../features/reminders/plan.ts';
import type { ObserveLag } from '../features/reminders/ports.ts';
import { openTriggers } from '../features/triggers/open.ts';
import { createHttpClient, type HttpClient, type HttpObserver } from '../http/client.ts';
import type { Outages } from '../jobs/outages.ts';
import type { WorkQueues } from '../jobs/queues.ts';
import type { ClinicSource, OpenTenant } from '../jobs/tenant.ts';
import type { Logger } from '../log/logger.ts';
import { noSpans, type Spans } from '../log/spans.ts';
import type { CacheBudget } from '../model/cache.ts';
import type { Clock } from '../model/time.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { ElapsedBetween } from '../model/watched-clock.ts';
import { isForOthers } from '../settings/common-schemas.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { OPERATORS_REACH, type Purpose, type Reach, reachOf } from '../settings/outbound-schema.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { type BudgetWaiting, openBudgetShare, type Priority } from '../state/budget.ts';
import { type ConfigVersion, leasesUnder } from '../state/config-version.ts';
import { type CredentialStore, createCredentialStore } from '../state/credentials.ts';
import { createLeases } from '../state/leases.ts';
import type { Processes } from '../state/processes.ts';
import type { AwaitDurable, RedisClient } from '../state/redis.ts';
import { createProofSealer, createSealer, type Sealer, type SealingKey } from '../state/sealing.ts';
import type { StateCounter } from '../state/state-counter.ts';
import type { EvaluateExpressions } from '../sync/mapping/evaluate.ts';
import { openConnections } from './connections.ts';
import { type ConnectionParts, type OpenConnection, requireEntry } from './open-connection.ts';
import { openReminders, type ReminderParts } from './reminders.ts';
import { type Connectors, openNotifications, openTargets, scopesOfTargets } from './targets.ts';
import { openTenantClinic, type TenantClinic } from './tenant-clinic.ts';
import type { TenantCache } from './tenant-stores.ts';
import { openTenantStores } from './tenant-stores.ts';

const USER_AGENT = 'clinic-mirror';
/**
 * A record is missed twice by readings that are half the interval of cycles apart, so that the next cycle counts although it may begin a
 * little early, and a command that is given twice does not. Where cycles are rare, a command after this counts.
 */
const LONGEST_MISS_MS = 5 * MINUTE_MS;
/** A tenant with its logins. */
export interface ComposedTenant {
  tenant: OpenTenant;
  connections: ReadonlyMap<string, OpenConnection>;
  credentials: CredentialStore;
  sealer: Sealer;
  /** As `TenantClinic.prompt`. */
  promptClinic: ClinicSource;
  verifyClinicLogin: TenantClinic['verifyLogin'];
}

/** What a process says of how its tenants are composed. */
export interface TenantOptions {
  /** The one that counts now: another one may come. */
  configuration: Configuration;
  log: Logger;
  /** `interactive`: a person waits for what is done. */
  priority: Priority;
  observe?: HttpObserver;
  /** Default: nobody is told what takes how long. */
  spans?: Spans;
  /** As of a budget. */
  whileInLine?: BudgetWaiting['whileInLine'];
  /** To be told how late each reminder was sent. */
  observeLag?: ObserveLag;
}

/** What all tenants of a process are composed with. */
export interface Shared extends TenantOptions {
  configVersions: ReadonlyMap<string, ConfigVersion>;
  connectors: Connectors;
  evaluate: EvaluateExpressions;
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

/** Opens a tenant: its logins, its stores, its clinic and its targets. */
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
  });
  const clinic = openTenantClinic({
    ...shared,
    ...{ tenant, credentials, proofs, http, log },
    connection: requireEntry(connections, CLINIC_CONNECTION),
    source: cache.source,
  });
  const { connectors, evaluate, remotes } = shared;
  const parts = {
    ...{ tenant: tenant.formerly ?? tenant.id, zone: tenant.zone, identityKey, identity: shared.stateCounter.identity },
    ...{ connectors, evaluate, remotes, httpOf, log, clock, connections, feeds: stores.feeds },
  };
  const reminders = remindersOf(tenant, { identityKey, httpFor, log, protection: stores.protection }, shared);
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
      targets: openTargets(tenant, cache.targets, parts),
      ...stores,
      ...boundsOfWork(settings),
      memory: cache.memory,
      leases: leasesUnder(configVersion, leases, () =>
        log.error({}, 'the tenant is left to a process with a newer configuration, until this one has it too'),
      ),
      notifications: openNotifications({ ...parts, redis, id: tenant.id, proofs }, settings.notifications.url ?? null),
      reminders,
      followers:
        reminders === null ? [] : [reminderFollower({ ...stores, configuration: tenant, reminders, log, clock })],
      triggers: openTriggers({
        ...{ tenant, identityKey, redis, sealer, queues },
        http: httpOf.webhooks,
        openSource: clinic.forTriggers,
      }),
      configVersion,
      outages: shared.outages,
      elapsedBetween,
      log,
      spans: shared.spans ?? noSpans,
      clock,
      random: Math.random,
    },
  };
}

/** The ways to what the operator's settings name, and to what a tenant names. */
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

/** Opens a tenant's logins and where they are kept. */
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

/** How often cycles come, how long what they find counts, and how much a turn of a lane writes. */
function boundsOfWork({
  schedule,
  push,
}: Settings): Pick<OpenTenant, 'pullEveryMs' | 'planLifeMs' | 'missedForMs' | 'slice'> {
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
