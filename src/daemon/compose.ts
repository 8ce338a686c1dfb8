import { getHeapStatistics } from 'node:v8';
import { connectors as registry } from '../connectors/registry.ts';
import { SharedState } from '../connectors/shared-state.ts';
import { type Logger, silentLogger } from '../core/log/logger.ts';
import { CacheBudget, type SmallThings } from '../core/model/cache.ts';
import { type Clock, DAY_MS, MINUTE_MS, SECOND_MS, watchClock } from '../core/model/time.ts';
import { endWait } from '../engine/lane.ts';
import { reminderKeys } from '../features/reminders/keys.ts';
import type { IsNeedless } from '../jobs/job-kinds.ts';
import { Outages } from '../jobs/outages.ts';
import { MONTH_MS } from '../operator/control/audit-log.ts';
import type { Installation } from '../operator/control/installation.ts';
import type { ActServices } from '../operator/control/recording.ts';
import type { Configuration } from '../settings/configuration.ts';
import { createOutageStore, type WaitingWork } from '../state/outages.ts';
import { createNeedless } from '../tenant/needless-jobs.ts';
import { wakeOther } from '../tenant/wake-others.ts';
import { openWorkQueues, type WorkQueues } from '../tenant/work-queues.ts';
import { type ActLines, openActServices } from './acts.ts';
import { connectionStatuses } from './open-connection.ts';
import { readForecast } from './outlook.ts';
import { readRedis } from './redis-readings.ts';

import { openStores, type Stores } from './stores.ts';
import type { Connectors } from './targets.ts';
import type { TenantOptions } from './tenant.ts';
import { OPEN_TENANTS } from './tenant-stores.ts';
import { type OpenTenants, openTenants, tenantsOf } from './tenants.ts';

/** Least number of appointments and links cached between cycles, over all tenants: about 100 MB. */
const LEAST_CACHED_ENTRIES = 250_000;
/** Approximate memory of one cached appointment or link: 250,000 need about 100 MB. */
const BYTES_OF_ENTRY = 400;
/** Share of the largest heap that caches may take. Our choice. */
const CACHED_SHARE = 0.1;
/** Smaller lists and tables: those of about thirty clinics, 9 MB. Others are read again after a change. */
const SMALL_CACHED: SmallThings = { under: 1_000, entries: 20_000 };

/**
 * Returns how many appointments and links the caches of a process may hold together. What the operator gives to the heap decides how large a
 * clinic stays cached: a clinic above the limit displaces its own entries in each cycle.
 * @param largestHeapBytes V8's limit: `--max-old-space-size`, or Node's choice from the memory of the host or container
 */
export function cachedEntries(largestHeapBytes: number): number {
  return Math.max(LEAST_CACHED_ENTRIES, Math.floor((largestHeapBytes * CACHED_SHARE) / BYTES_OF_ENTRY));
}

/** All opened parts: for the verbs, and for the composer, which closes them. */
export interface Composition extends OpenTenants, Omit<Stores, 'writer' | 'awaitDurable' | 'ring' | 'auditLog'> {
  /** The current configuration. */
  readonly configuration: Configuration;
  installation: Installation;
  acts: ActServices;
  queues: WorkQueues;
  isNeedless: IsNeedless;
  log: Logger;
  close(): Promise<void>;
}

/** Options of the composition. */
export interface CompositionOptions extends TenantOptions {
  clock?: Clock;
  /** Maximum number of idle tenants that stay open. Default 100. */
  openTenants?: number;
  /** Destination of audit lines without an audit log. Default: standard error, because standard output holds the command's answer. */
  actLines?: ActLines;
  /** Default: the registry's connectors. */
  connectors?: Connectors;
}

/** Composes settings, state, clinic, connections and connectors: first stores, then tenants, then the view for the verbs. Sends nothing. */
export function compose(options: CompositionOptions): Composition {
  const { log, priority } = options;
  const { settings } = options.configuration;
  // A given clock is treated as steady.
  const { clock, elapsedBetween } = watchClock(options.clock ?? Date.now, options.clock ?? (() => performance.now()));
  let { configuration } = options;
  // A command shows damaged state itself, as a problem or an error.
  const stores = openStores(() => configuration.settings, clock, log, priority === 'interactive' ? silentLogger : log);
  const { redis, writer, stateCounter, removed, reloads, managedTenants, alerts, certificates, logins, loginLinks } =
    stores;
  const acts = openActServices(() => configuration, stores, clock, options.actLines ?? process.stderr);
  const isNeedless = openNeedless(redis, () => configuration);
  const queues = openWorkQueues(settings.redis.place.reveal(), isNeedless, undefined, options.spans);
  const outages = new Outages({
    store: createOutageStore(redis, settings.secrets.identityKey.reveal()),
    ...{ clock, log },
    lastsAfterMs: () => configuration.settings.alerts.outageAfterMinutes * MINUTE_MS,
    random: Math.random,
    wake: (work, host, delayMs) => wakeAfterOutage({ composed: tenants.composed, queues }, work, host, delayMs),
  });
  const shared = {
    ...options,
    ...stores,
    connectors: options.connectors ?? registry,
    clock,
    elapsedBetween,
    queues,
    outages,
    remotes: new SharedState(),
    room: new CacheBudget(cachedEntries(getHeapStatistics().heap_size_limit), SMALL_CACHED),
  };
  const tenants = openTenants(shared, options.openTenants ?? OPEN_TENANTS);
  return {
    ...tenants,
    get configuration() {
      return configuration;
    },
    installation: installationOf(() => configuration, {
      ...{ ...stores, composed: tenants.composed },
      ...{ queues, clock, acts, outages },
    }),
    acts,
    async takeUp(next, signal) {
      const changes = await tenants.takeUp(next, signal);
      configuration = next;
      return changes;
    },
    logins,
    loginLinks,
    redis,
    stateCounter,
    removed,
    reloads,
    managedTenants,
    ...{ processes: stores.processes, damaged: stores.damaged, upkeep: stores.upkeep },
    alerts,
    certificates,
    queues,
    isNeedless,
    log,
    async close() {
      await tenants.whenIdle();
      await queues.close();
      await stores.processes.leave();
      stores.damaged.close();
      for (const connection of [redis, writer]) connection.disconnect();
      log.debug({}, 'closed');
    },
  };
}

/** Starts the jobs that waited for a host. */
async function wakeAfterOutage(
  { composed, queues }: Pick<Composition, 'composed' | 'queues'>,
  { tenant: id, target, other }: WaitingWork,
  host: string,
  delayMs: number,
): Promise<void> {
  const tenant = composed.get(id)?.tenant;
  if (tenant === undefined || tenant.configuration.paused) return;
  if (other !== undefined) await wakeOther(tenant, other, delayMs);
  else if (target === null) await queues.pullNow(id, delayMs);
  else if (tenant.targets.has(target) && (await endWait(tenant, target, host))) await queues.wake(id, target, delayMs);
}

/** Returns the view for the verbs. @param current returns the current configuration */
function installationOf(
  current: () => Configuration,
  parts: Pick<Composition, 'composed' | 'queues'> &
    Pick<
      Stores,
      'alerts' | 'certificates' | 'damaged' | 'stateCounter' | 'redis' | 'reloads' | 'removed' | 'upkeep'
    > & {
      acts: ActServices;
      clock: Clock;
      outages: Outages;
    },
): Installation {
  const { composed, queues, stateCounter, alerts, damaged, reloads, removed, acts, clock, outages, redis } = parts;
  return {
    tenants: tenantsOf(composed),
    get outlines() {
      return current().outlines;
    },
    get managed() {
      return current().managed;
    },
    get refused() {
      return current().refused;
    },
    get unusable() {
      return current().unusable;
    },
    get unchecked() {
      return current().unchecked;
    },
    connections: (tenant) =>
      connectionStatuses(
        composed.get(tenant.id),
        current().settings.tokens.confirmRefusalAfterSeconds * SECOND_MS,
        clock,
      ),
    stateCounter,
    alertFailures: alerts.failures,
    damaged,
    redis: () => readRedis(redis, clock),
    reloads: () => reloads.list(),
    forecast: () => readForecast(current().settings, parts, clock),
    approvals: (tenant) => acts.approvalsOf(tenant).store.list(),
    removed: {
      ...removed,
      get retentionMs() {
        return current().settings.removed.keepDays * DAY_MS;
      },
    },
    upkeep: { ...parts.upkeep, auditLogMs: () => current().settings.auditLog.keepMonths * MONTH_MS },
    queues: (jobs) => queues.show(jobs),
    outages,
    get outageAfterMs() {
      return current().settings.alerts.outageAfterMinutes * MINUTE_MS;
    },
    pullNow: (tenant) => queues.pullNow(tenant),
    clock,
  };
}

function openNeedless(redis: Composition['redis'], current: () => Configuration): IsNeedless {
  const identityKey = current().settings.secrets.identityKey.reveal();
  return createNeedless(redis, () => current().outlines, identityKey, reminderKeys.remindersOpen);
}
