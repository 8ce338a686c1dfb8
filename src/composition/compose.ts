import { connectors as registry } from '../connectors/registry.ts';
import { SharedState } from '../connectors/shared-state.ts';
import type { Installation } from '../control/installation.ts';
import { createNeedless, type IsNeedless } from '../jobs/needless.ts';
import { openQueues, type WorkQueues } from '../jobs/queues.ts';
import type { Logger } from '../log/logger.ts';
import { KeptRoom } from '../model/kept.ts';
import type { Clock } from '../model/time.ts';
import { DAY_MS } from '../model/time.ts';
import { watchClock } from '../model/watched-clock.ts';
import type { PendingLogin } from '../oauth/store.ts';
import type { Configuration } from '../settings/configuration.ts';
import { createAwaitDurable } from '../state/durability.ts';
import { createStateEpoch, type StateEpoch } from '../state/epoch.ts';
import { createLoginStore, type LoginStore } from '../state/logins.ts';
import { connectRedis, type RedisClient } from '../state/redis.ts';
import { createReloadReports, type ReloadReports } from '../state/reload-reports.ts';
import { createRemovedStore, type RemovedStore } from '../state/removed.ts';
import { createEvaluator } from '../sync/mapping/index.ts';
import { OPEN_TENANTS } from './closing.ts';
import { connectionStatuses } from './connection-statuses.ts';
import { startExpressionThread } from './expression-thread.ts';
import type { Connectors } from './targets.ts';
import type { Given } from './tenant.ts';
import { type OpenTenants, openTenants, tenantsOf } from './tenants.ts';

/** Appointments and links that a process keeps from one cycle to the next, over all tenants: some 100 MB. */
const KEPT_ENTRIES = 250_000;
/** Fewer of one list or table are read again when they are needed, which is when something changed. */
const FEWEST_KEPT = 1_000;

/** Everything, opened: what the verbs work on and what only the composer may close. */
export interface Composition extends OpenTenants {
  /** The one that counts now. */
  readonly configuration: Configuration;
  installation: Installation;
  logins: LoginStore<PendingLogin>;
  redis: RedisClient;
  epoch: StateEpoch;
  removed: RemovedStore;
  reloads: ReloadReports;
  queues: WorkQueues;
  isNeedless: IsNeedless;
  log: Logger;
  close(): Promise<void>;
}

/** How the parts are joined. */
export interface CompositionOptions extends Given {
  clock?: Clock;
  /** How many tenants stay open when nothing is done for them. Default 100. */
  openTenants?: number;
  /** Default: those of the registry. */
  connectors?: Connectors;
}

/** Joins settings, state, clinic, logins and connectors. Nothing is sent to anybody yet. */
export function compose(options: CompositionOptions): Composition {
  const { log } = options;
  const { settings } = options.configuration;
  // One that is given is as steady as it is right.
  const { clock, elapsedBetween } = watchClock(options.clock ?? Date.now, options.clock ?? (() => performance.now()));
  const place = settings.redis.place.reveal();
  const redis = connectRedis(place);
  const writer = connectRedis(place);
  const { replicas } = settings.redis;
  const epoch = createStateEpoch({
    redis,
    writer,
    replicas,
    directory: settings.dataDirectory ?? null,
    identityKey: settings.secrets.identityKey.reveal(),
    clock,
    log,
  });
  const removed = createRemovedStore(redis);
  const reloads = createReloadReports(redis, clock);
  let { configuration } = options;
  const isNeedless = createNeedless(redis, () => configuration.outlines);
  const queues = openQueues(place, isNeedless);
  const ring = settings.secrets.sealingKeys.map(({ id, key }) => ({ id, key: key.reveal() }));
  const shared = {
    ...options,
    connectors: options.connectors ?? registry,
    clock,
    elapsedBetween,
    redis,
    writer,
    awaitDurable: createAwaitDurable(writer, { replicas }),
    epoch,
    ring,
    queues,
    evaluate: createEvaluator(startExpressionThread),
    remotes: new SharedState(),
    room: new KeptRoom(KEPT_ENTRIES, FEWEST_KEPT),
  };
  const tenants = openTenants(shared, options.openTenants ?? OPEN_TENANTS);
  const { composed } = tenants;
  const installation: Installation = {
    tenants: tenantsOf(composed),
    get outlines() {
      return configuration.outlines;
    },
    get setAside() {
      return configuration.setAside;
    },
    connections: (tenant) => connectionStatuses(composed.get(tenant.id)),
    epoch,
    reloads: () => reloads.list(),
    removed: {
      ...removed,
      get keepMs() {
        return configuration.settings.removed.keepDays * DAY_MS;
      },
    },
    pullNow: (tenant) => queues.pullNow(tenant),
    clock,
  };
  return {
    ...tenants,
    get configuration() {
      return configuration;
    },
    installation,
    async takeUp(next, signal) {
      const changes = await tenants.takeUp(next, signal);
      configuration = next;
      return changes;
    },
    logins: createLoginStore<PendingLogin>(redis, ring),
    redis,
    epoch,
    removed,
    reloads,
    queues,
    isNeedless,
    log,
    async close() {
      await tenants.settled();
      await queues.close();
      for (const connection of [redis, writer]) connection.disconnect();
      log.debug({}, 'closed');
    },
  };
}
