import { type Logger, noSpans, silentLogger } from '../../src/core/log/logger.ts';
import { CacheBudget } from '../../src/core/model/cache.ts';
import type { AppointmentStatus } from '../../src/core/model/records.ts';
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS, watchClock } from '../../src/core/model/time.ts';
import type { ClinicSource } from '../../src/domain/clinic-requests.ts';
import { openForm } from '../../src/domain/open-crm.ts';
import { createRunStore } from '../../src/domain/runs.ts';
import { emptyStreamMemory } from '../../src/domain/stream-memory.ts';
import { traitsOf } from '../../src/domain/target-traits.ts';
import { createTargetIdentity, FingerprintMemory } from '../../src/engine/identity.ts';
import { createTenantFeeds } from '../../src/features/feeds/store.ts';
import { reminderFollower } from '../../src/features/reminders/plan.ts';
import type { OpenReminders } from '../../src/features/reminders/ports.ts';
import { createReminderTraces } from '../../src/features/reminders/traces.ts';
import { Outages, type OutagesOptions } from '../../src/jobs/outages.ts';
import type { TargetConfiguration, TenantConfiguration } from '../../src/settings/configuration.ts';
import { createConfigVersion, leasesUnder } from '../../src/state/config-version.ts';
import { createHistoryStore } from '../../src/state/history.ts';
import { createHoldStore } from '../../src/state/holds.ts';
import { createJournal } from '../../src/state/journal.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createLinkStore } from '../../src/state/links.ts';
import { createOutageStore, createUnansweredStore } from '../../src/state/outages.ts';
import { createOutbox } from '../../src/state/outbox.ts';
import { createProtection } from '../../src/state/protection.ts';
import { createRecentObjects } from '../../src/state/recent-objects.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createProofSealer, createSealer } from '../../src/state/sealing.ts';
import { createStateCounter, type StateCounter } from '../../src/state/state-counter.ts';
import { createStoredDocuments } from '../../src/state/stored-documents.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { createTenantStorage } from '../../src/state/tenant-storage.ts';
import { createTombstoneStore } from '../../src/state/tombstones.ts';
import { createSubscriptionDirectory, createSubscriptionStore } from '../../src/tenant/subscription-store.ts';
import type { OpenTarget, OpenTenant } from '../../src/tenant/tenant.ts';
import { NOTHING_MORE } from '../domain/arbitraries.ts';
import { withSource } from '../support/with-source.ts';
import type { ModelTarget } from './model-target.ts';

/** Each cycle fetches everything, however long a test takes. */
const NEVER_LATE_MS = 365 * DAY_MS;
const IDENTITY_KEY = Buffer.alloc(32, 7);
const SEALING_KEYS = [{ id: 'k1', key: Buffer.alloc(32, 9) }];
const SHOWN: AppointmentStatus[] = ['booked', 'confirmed', 'arrived', 'in_progress', 'completed', 'no_show', 'unknown'];

/** What a test chooses of a target. */
export interface TargetChoice {
  id?: string;
  model: ModelTarget;
  configuration?: Partial<TargetConfiguration>;
}

/** What a test chooses of a tenant. */
export interface TenantChoice {
  redis: RedisClient;
  clinic: ClinicSource;
  targets: readonly TargetChoice[];
  clock: Clock;
  /** A clock that does not jump with the other one. */
  steady?: Clock;
  id?: string;
  name?: string;
  /** Previous ID of the tenant; those of targets are in their configurations. */
  formerly?: string | undefined;
  paused?: boolean;
  slice?: OpenTenant['slice'];
  leaseTtlMs?: number;
  /** Most memory in Redis; by default a gibibyte. */
  limitBytes?: number;
  /** Interval of cycles; by default no cycle is late. */
  pullEveryMs?: number;
  log?: Logger;
  /** Storage outside Redis; by default none. */
  dataDirectory?: string | null;
  reminders?: OpenTenant['reminders'];
  triggers?: OpenTenant['triggers'];
  /** URL of the receiver for vendors; by default no subscription is opened. */
  notificationsUrl?: string | null;
  /** Outages of one process with its callbacks; by default no work is woken. */
  outages?: Outages;
  /** How a channel is ended. */
  subscriptionsOf?: OpenTenant['notifications']['subscriptionsOf'];
}

/** The state's epoch as one process has it. */
export function openEpoch(redis: RedisClient, clock: Clock, directory: string | null = null): StateCounter {
  return createStateCounter({
    redis,
    writer: redis,
    replicas: null,
    directory,
    identityKey: IDENTITY_KEY,
    clock,
    log: silentLogger,
  });
}

/** Opens outages as one process tracks them. */
export function openOutages(
  redis: RedisClient,
  clock: Clock,
  { wake = async () => {}, log = silentLogger }: Partial<Pick<OutagesOptions, 'wake' | 'log'>> = {},
): Outages {
  const lastsAfterMs = () => 15 * MINUTE_MS;
  const store = createOutageStore(redis, IDENTITY_KEY);
  return new Outages({ store, clock, wake, log, lastsAfterMs, random: () => 0.5 });
}

/** A tenant as `main.ts` would open it, over a clinic and targets in memory. Each call is another process. */
export function openTenant(choice: TenantChoice): OpenTenant {
  const { redis, clinic, log = silentLogger } = choice;
  const { clock, elapsedBetween } = watchClock(choice.clock, choice.steady ?? choice.clock);
  const id = choice.id ?? 'studio-rossi';
  const room = new CacheBudget(100_000);
  const proofs = createProofSealer(IDENTITY_KEY, id);
  const links = createLinkStore(redis, id, IDENTITY_KEY, room);
  const protection = createProtection({
    redis,
    tenant: choice.formerly ?? id,
    identityKey: IDENTITY_KEY,
    stateCounter: openEpoch(redis, clock, choice.dataDirectory),
    clock,
    log,
  });
  const targets = choice.targets.map((target) => openTarget(choice.formerly ?? id, target));
  const hash = JSON.stringify(choice.targets.map((target) => [target.id, target.configuration]));
  const generation = createConfigVersion({ redis, tenant: id, hash, targets: targets.map(({ id }) => id), clock });
  const configuration = tenantConfiguration(id, choice, targets);
  const tenant: OpenTenant = withSource({
    id,
    configuration,
    clinic,
    targets: new Map(targets.map((target) => [target.id, target])),
    feeds: createTenantFeeds(redis, id, createSealer(SEALING_KEYS, id), Buffer.alloc(32, 9)),
    links,
    outbox: createOutbox(redis, id, { sealer: createSealer(SEALING_KEYS, id), proofs }, links),
    unanswered: createUnansweredStore(redis, id),
    storage: createTenantStorage(redis, id, choice.limitBytes ?? 1_024 * 1_024 * 1_024),
    targetStore: createTargetStore(redis, id, proofs, configuration.zone),
    history: createHistoryStore(redis, id),
    holds: createHoldStore(redis, id, createSealer(SEALING_KEYS, id)),
    recentObjects: createRecentObjects(redis, id, createSealer(SEALING_KEYS, id)),
    runs: createRunStore(redis, id, proofs),
    plans: createStoredDocuments(redis, id, 'plan', { sealer: createSealer(SEALING_KEYS, id), clock }),
    tasks: createStoredDocuments(redis, id, 'task', { sealer: createSealer(SEALING_KEYS, id), clock }),
    journal: createJournal(redis, id, IDENTITY_KEY, {
      formerly: {
        tenant: choice.formerly,
        target: (target) => choice.targets.find((each) => (each.id ?? 'doctor') === target)?.configuration?.formerly,
      },
    }),
    // Any later cycle is a second look.
    missedForMs: 0,
    elapsedBetween,
    leases: leasesUnder(generation, createLeases(redis, id, choice.leaseTtlMs ?? 60_000), () => {}),
    memory: emptyStreamMemory(room, true),
    protection,
    tombstones: createTombstoneStore(redis, choice.formerly ?? id, IDENTITY_KEY, protection),
    notifications: {
      url: choice.notificationsUrl ?? null,
      store: createSubscriptionStore(redis, id, proofs),
      directory: createSubscriptionDirectory(redis, IDENTITY_KEY, clock),
      subscriptionsOf: choice.subscriptionsOf ?? (() => null),
    },
    ...{ reminders: null, reminderTraces: createReminderTraces(redis, choice.formerly ?? id) },
    followers: [],
    triggers: choice.triggers ?? null,
    configVersion: generation,
    pullEveryMs: choice.pullEveryMs ?? NEVER_LATE_MS,
    planLifeMs: 2 * HOUR_MS,
    slice: choice.slice ?? { operations: 200, durationMs: 20_000 },
    ...{ log, spans: noSpans },
    outages: choice.outages ?? openOutages(redis, clock),
    clock,
    sharedTime: async (at) => at,
    random: () => 0.5,
  });
  return choice.reminders == null ? tenant : withReminders(tenant, choice.reminders);
}

/** The same tenant with reminders, planned with each cycle. */
export function withReminders(tenant: OpenTenant, reminders: OpenReminders): OpenTenant {
  return withSource({
    ...tenant,
    reminders,
    followers: [
      reminderFollower({
        ...{ ...tenant, reminders },
        readAppointment: (id, signal) => tenant.clinic.readAppointment(id, signal),
        readPatient: (id, signal) => tenant.clinic.readPatient(id, signal),
      }),
    ],
  });
}

/** A target as `openTenant` opens it. */
export function openTarget(tenant: string, { id = 'doctor', model, configuration = {} }: TargetChoice): OpenTarget {
  const given = configuration as TargetConfiguration;
  const { stream, form, crm } = openForm(given, 'Europe/Rome', () => []);
  const identity = createTargetIdentity(IDENTITY_KEY, tenant, configuration.formerly ?? id, form);
  const fingerprints = new FingerprintMemory();
  const traits = { connectionKind: 'model' };
  return {
    id,
    stream,
    crm,
    configuration: { ...targetConfiguration(id), ...configuration },
    identity,
    vendor: 'Model',
    supports: model.supports,
    connector: model.open(identity.ownerTag),
    fingerprints,
    ...traitsOf({
      stream,
      configuration: { ...targetConfiguration(id), ...configuration },
      crm,
      identity,
      fingerprints,
      ...traits,
    }),
    preparedContainer: null,
    idleTarget: null,
  };
}

function targetConfiguration(id: string): TargetConfiguration {
  return {
    id,
    connector: 'model',
    connection: 'model',
    agendas: 'all',
    treatments: 'all',
    blockedTime: 'show',
    window: { pastDays: 7, futureDays: 60 },
    title: 'appointment',
    fields: [],
    statuses: SHOWN,
    ...NOTHING_MORE,
    free: [],
    policy: 'sync',
    firstRun: 'apply',
    guard: {
      vanished: { share: 0.2, count: 10 },
      cancelled: { share: 0.6, count: 50 },
      holdExpiresAfterHours: 168,
    },
    audit: { drift: 'repair', rewritesPerDay: 10, changesEverySeconds: 300 },
    paused: false,
    settings: {},
  };
}

function tenantConfiguration(id: string, choice: TenantChoice, targets: readonly OpenTarget[]): TenantConfiguration {
  return {
    id,
    name: choice.name ?? 'Studio Rossi',
    language: 'en',
    zone: 'Europe/Rome',
    paused: choice.paused ?? false,
    clinic: { client: 'clinic', tenantId: null, scopes: [] },
    limits: {},
    connections: new Map(),
    targets: new Map(targets.map(({ id: target, configuration }) => [target, configuration])),
  };
}
