import { createAppointmentCalls } from '../clinic/appointment-calls.ts';
import { type ClinicContext, type CompiledProfile, createClinicClient } from '../clinic/index.ts';
import {
  createTenantSource,
  emptySourceMemory,
  type SourceMemory,
  type TenantMemory,
} from '../clinic/tenant-source.ts';
import type { SharedState } from '../connectors/shared-state.ts';
import { createHttpClient, type HttpObserver } from '../http/client.ts';
import type { ObserveLag } from '../jobs/open-reminders.ts';
import type { TriggerSource } from '../jobs/open-triggers.ts';
import type { WorkQueues } from '../jobs/queues.ts';
import type { ClinicSource, OpenTenant } from '../jobs/tenant.ts';
import type { Logger } from '../log/logger.ts';
import type { KeptRoom } from '../model/kept.ts';
import { lazily } from '../model/lazily.ts';
import type { Clock } from '../model/time.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { ElapsedBetween } from '../model/watched-clock.ts';
import { isForOthers } from '../settings/common-schemas.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { type BudgetWaiting, LONGEST_PAUSE_MS, openBudgetShare, type Priority } from '../state/budget.ts';
import { createClinicTenantStore } from '../state/clinic-tenant.ts';
import { type CredentialStore, createCredentialStore } from '../state/credentials.ts';
import type { AwaitDurable } from '../state/durability.ts';
import type { StateEpoch } from '../state/epoch.ts';
import { type Generation, leasesUnder } from '../state/generations.ts';
import { createHoldStore } from '../state/holds.ts';
import { createJournal } from '../state/journal.ts';
import { createLeases } from '../state/leases.ts';
import { createOutbox } from '../state/outbox.ts';
import type { RedisClient } from '../state/redis.ts';
import { createRunStore } from '../state/runs.ts';
import { createSealer, type Sealer, type SealingKey } from '../state/sealing.ts';
import { createSubscriptionDirectory, createSubscriptionStore } from '../state/subscriptions.ts';
import { createTargetStore } from '../state/targets.ts';
import { createTombstoneStore } from '../state/tombstones.ts';
import { createUnansweredStore } from '../state/unanswered.ts';
import type { EvaluateExpressions } from '../sync/mapping/index.ts';
import type { Lasting } from './closing.ts';
import { type OpenConnection, openConnections, requireEntry } from './connections.ts';
import { openReminders } from './reminders.ts';
import { type Connectors, openSubscriptions, openTarget, scopesOfTargets } from './targets.ts';
import { openTriggers } from './triggers.ts';

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
  /** The clinic, for what a person waits for: ahead of the daemon's own questions, as during a wave of reminders. */
  promptClinic: ClinicSource;
  /**
   * Whom a clinic's access token belongs to, asked before the login is stored: the user must be one of the tenant that is worked in.
   * @throws MirrorError as `chooseTenant`, and the API's
   */
  verifyClinicLogin(accessToken: string, signal: AbortSignal): Promise<void>;
}

/** What a process says of how its tenants are composed. */
export interface Given {
  /** The one that counts now: another one may come. */
  configuration: Configuration;
  log: Logger;
  /** `interactive`: a person waits for what is done. */
  priority: Priority;
  observe?: HttpObserver;
  /** As of a budget. */
  whileInLine?: BudgetWaiting['whileInLine'];
  /** To be told how late each reminder was sent. */
  observeLag?: ObserveLag;
}

/** What all tenants of a process are composed with. */
export interface Shared extends Given {
  generations: ReadonlyMap<string, Generation>;
  connectors: Connectors;
  evaluate: EvaluateExpressions;
  remotes: SharedState;
  room: KeptRoom;
  /** By profile. */
  compiled: ReadonlyMap<string, CompiledProfile>;
  clock: Clock;
  elapsedBetween: ElapsedBetween;
  redis: RedisClient;
  writer: RedisClient;
  awaitDurable: AwaitDurable;
  epoch: StateEpoch;
  ring: SealingKey[];
  queues: WorkQueues;
}

/** Opens a tenant. */
export function composeTenant(tenant: TenantConfiguration, lasting: Lasting, shared: Shared): ComposedTenant {
  const { configuration, clock, connectors, evaluate, redis, remotes, ring, whileInLine, writer, awaitDurable } =
    shared;
  const { links, protection } = lasting;
  const { settings } = configuration;
  const log = shared.log.child({ tenant: tenant.id });
  const sealer = createSealer(ring, tenant.id);
  const leases = createLeases(redis, tenant.id, settings.leases.ttlMs);
  const generation = requireEntry(shared.generations, tenant.id);
  const credentials = createCredentialStore({ redis, writer, awaitDurable, sealer, tenant: tenant.id, log });
  const http = createHttpClient({
    userAgent: USER_AGENT,
    clock,
    ...(shared.observe === undefined ? {} : { observe: shared.observe }),
  });
  const budget = (client: string, limits: { requestsPerMinute: number; burst: number }) =>
    openBudgetShare(redis, client, tenant.id, limits, shared.priority, { whileInLine });
  const connections = openConnections({
    configuration,
    tenant,
    credentials,
    leases,
    http,
    budget,
    targetScopes: (connection) => scopesOfTargets(tenant, connection, connectors),
    clock,
    log,
  });
  const journalKeepMs = settings.journal.keepDays * DAY_MS;
  const connection = (id: string) => requireEntry(connections, id);
  const client = requireEntry(settings.clinicClients, tenant.clinic.client);
  const runs = createRunStore(redis, tenant.id);
  const bound = createClinicTenantStore(redis, tenant.id);
  const memory: TenantMemory = {
    loggedInAt: async () => (await credentials.read(CLINIC_CONNECTION))?.obtainedAt ?? null,
    // An earlier release remembered it in the report of the last cycle alone.
    workedIn: async () => (await bound.read()) ?? (await runs.list(1))[0]?.clinic?.tenantId ?? null,
    bind: bound.bind,
  };
  // A cycle that gave up during a pause would have to read its pages again; whoever else waits there comes back later.
  const share = (priority: Priority, pauseWaitMs?: number) =>
    openBudgetShare(redis, `clinic-${client.clientId}`, tenant.id, client.budget, priority, {
      pauseWaitMs,
      whileInLine,
    });
  const context: ClinicContext = {
    profile: requireEntry(configuration.profiles, client.profile),
    compiled: requireEntry(shared.compiled, client.profile),
    pagings: lasting.source.pagings,
    baseUrl: client.baseUrl,
    http,
    budget: share(shared.priority, LONGEST_PAUSE_MS),
    authorization: connection(CLINIC_CONNECTION).authorizer(CLINIC_CONNECTION),
    clock,
    log,
  };
  const clinic = lazily(() => openClinic(tenant, memory, context, lasting.source));
  const promptClinic = lazily(() => openClinic(tenant, memory, { ...context, budget: share('interactive') }));
  const identityKey = settings.secrets.identityKey.reveal();
  const name = tenant.formerly ?? tenant.id;
  const epoch = shared.epoch.of(tenant.id, name);
  const known = { tenant: name, zone: tenant.zone, identityKey, identity: shared.epoch.identity };
  const parts = { ...known, connectors, evaluate, http, remotes, log, clock, connection };
  return {
    connections,
    credentials,
    sealer,
    get promptClinic() {
      return promptClinic();
    },
    async verifyClinicLogin(accessToken, signal) {
      const header = async () => `Bearer ${accessToken}`;
      const own = { pagings: new Map(), authorization: { header, renew: header } };
      const login = { ...context, ...own, budget: share('interactive') };
      await openClinic(tenant, memory, login).tenantId(signal);
    },
    tenant: {
      id: tenant.id,
      configuration: tenant,
      get clinic() {
        return clinic();
      },
      targets: new Map(
        [...tenant.targets.values()].map((target) => [
          target.id,
          openTarget(target, requireEntry(lasting.targets, target.id), parts),
        ]),
      ),
      links,
      outbox: createOutbox(redis, tenant.id, sealer, links, journalKeepMs),
      unanswered: createUnansweredStore(redis, tenant.id),
      journal: createJournal(redis, tenant.id, journalKeepMs, {
        tenant: tenant.formerly,
        target: (id) => tenant.targets.get(id)?.formerly,
      }),
      targetStore: createTargetStore(redis, tenant.id),
      holds: createHoldStore(redis, tenant.id),
      runs,
      missedForMs: Math.min((settings.schedule.pullEverySeconds * SECOND_MS) / 2, LONGEST_MISS_MS),
      elapsedBetween: shared.elapsedBetween,
      leases: leasesUnder(generation, leases, () =>
        log.error({}, 'the tenant is left to a process with a newer configuration, until this one has it too'),
      ),
      memory: lasting.memory,
      protection,
      tombstones: createTombstoneStore(redis, name, identityKey, protection),
      notifications: {
        url: settings.notifications.url ?? null,
        store: createSubscriptionStore(redis, tenant.id),
        directory: createSubscriptionDirectory(redis, clock),
        subscriptionsOf: (subscription) =>
          connections.has(subscription.connection) ? openSubscriptions(subscription, parts) : null,
      },
      reminders: openReminders({
        tenant,
        identityKey,
        redis,
        epoch,
        protection,
        queues: shared.queues,
        http,
        log,
        clock,
        observeLag: shared.observeLag ?? (() => {}),
        publicUrl: isForOthers(settings.http.publicUrl) ? settings.http.publicUrl : null,
      }),
      triggers: openTriggers({
        ...{ tenant, identityKey, redis, sealer, queues: shared.queues, http },
        openSource: () => openClinic(tenant, memory, { ...context, budget: connection(CLINIC_CONNECTION).budget }),
      }),
      generation,
      pullEveryMs: settings.schedule.pullEverySeconds * SECOND_MS,
      planLifeMs: Math.max(HOUR_MS, 2 * settings.schedule.pullEverySeconds * SECOND_MS),
      slice: { operations: settings.push.sliceOperations, durationMs: settings.push.sliceSeconds * SECOND_MS },
      log,
      clock,
      random: Math.random,
    },
  };
}

function openClinic(
  { clinic }: TenantConfiguration,
  memory: TenantMemory,
  context: ClinicContext,
  own: SourceMemory = emptySourceMemory(),
): ClinicSource & TriggerSource {
  const source = createTenantSource(createClinicClient(context), clinic.tenantId, context.clock, memory, own);
  const { setStatus } = createAppointmentCalls(context);
  return {
    ...source,
    async setStatus(id, status, signal) {
      await source.within((tenantId) => setStatus(tenantId, id, { status }, signal), signal);
    },
  };
}
