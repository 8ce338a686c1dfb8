import { emptySourceMemory, type SourceMemory } from '../clinic/tenant-source.ts';
import type { Logger } from '../core/log/logger.ts';
import type { CacheBudget } from '../core/model/cache.ts';
import { type Clock, DAY_MS } from '../core/model/time.ts';
import { createRunStore } from '../domain/runs.ts';
import { emptyStreamMemory, type StreamMemory } from '../domain/stream-memory.ts';
import { FingerprintMemory } from '../engine/identity.ts';
import { createTenantFeeds } from '../features/feeds/store.ts';
import { createReminderTraces } from '../features/reminders/traces.ts';
import type { Configuration, TenantConfiguration, TenantOutline } from '../settings/configuration.ts';
import type { Priority } from '../state/budget.ts';
import { createHistoryStore } from '../state/history.ts';
import { createHoldStore } from '../state/holds.ts';
import { createJournal } from '../state/journal.ts';
import { createLinkStore, type LinkStore } from '../state/links.ts';
import { createUnansweredStore } from '../state/outages.ts';
import { createOutbox } from '../state/outbox.ts';
import { createProtection, type Protection } from '../state/protection.ts';
import { createRecentObjects } from '../state/recent-objects.ts';
import type { RedisClient } from '../state/redis.ts';
import type { Sealer } from '../state/sealing.ts';
import type { StateCounter } from '../state/state-counter.ts';
import { createStoredDocuments } from '../state/stored-documents.ts';
import { createTargetStore } from '../state/targets.ts';
import { createTenantStorage } from '../state/tenant-storage.ts';
import { createTombstoneStore } from '../state/tombstones.ts';
import type { OpenTarget, OpenTenant } from '../tenant/tenant.ts';
import type { OpenConnection } from './open-connection.ts';
import type { CachedTarget } from './targets.ts';

/** A tenant's state in Redis, without credentials and feature-specific state. */
type TenantStores = Pick<
  OpenTenant,
  | 'feeds'
  | 'links'
  | 'outbox'
  | 'unanswered'
  | 'journal'
  | 'recentObjects'
  | 'storage'
  | 'targetStore'
  | 'history'
  | 'holds'
  | 'runs'
  | 'protection'
  | 'tombstones'
  | 'reminderTraces'
  | 'plans'
  | 'tasks'
>;

/** Dependencies of a tenant's stores. */
interface TenantStoreParts {
  tenant: TenantConfiguration;
  redis: RedisClient;
  sealer: Sealer;
  /** Encrypts with the identity key. */
  proofs: Sealer;
  identityKey: Uint8Array;
  journalRetentionDays: number;
  /** Most memory of the tenant in Redis. */
  limitBytes: number;
  clock: Clock;
  /** Cached knowledge from an earlier opening. */
  sharedCaches: Pick<TenantCache, 'links' | 'protection'>;
}

/** Opens a tenant's stores. Reads and writes nothing. */
export function openTenantStores(parts: TenantStoreParts): TenantStores {
  const { tenant, redis, sealer, proofs, identityKey } = parts;
  const { links, protection } = parts.sharedCaches;
  const journalRetentionMs = parts.journalRetentionDays * DAY_MS;
  return {
    feeds: createTenantFeeds(redis, tenant.id, sealer, identityKey),
    links,
    outbox: createOutbox(redis, tenant.id, { sealer, proofs, journalRetentionMs }, links),
    unanswered: createUnansweredStore(redis, tenant.id),
    journal: createJournal(redis, tenant.id, identityKey, {
      retentionMs: journalRetentionMs,
      formerly: { tenant: tenant.formerly, target: (id) => tenant.targets.get(id)?.formerly },
    }),
    storage: createTenantStorage(redis, tenant.id, parts.limitBytes),
    targetStore: createTargetStore(redis, tenant.id, proofs, tenant.zone),
    history: createHistoryStore(redis, tenant.id),
    holds: createHoldStore(redis, tenant.id, sealer),
    recentObjects: createRecentObjects(redis, tenant.id, sealer),
    runs: createRunStore(redis, tenant.id, proofs),
    plans: createStoredDocuments(redis, tenant.id, 'plan', parts),
    tasks: createStoredDocuments(redis, tenant.id, 'task', parts),
    protection,
    tombstones: createTombstoneStore(redis, tenant.formerly ?? tenant.id, identityKey, protection),
    reminderTraces: createReminderTraces(redis, tenant.formerly ?? tenant.id),
  };
}

/** Maximum number of open tenants, plus those that must stay open. */
export const OPEN_TENANTS = 100;

/** Small but expensive knowledge of a tenant that survives its closing. */
export interface TenantCache {
  links: LinkStore;
  memory: StreamMemory;
  source: SourceMemory;
  protection: Protection;
  /** By target. */
  targets: ReadonlyMap<string, CachedTarget>;
}

/** Dependencies of a tenant cache. */
interface TenantCacheParts {
  redis: RedisClient;
  room: CacheBudget;
  stateCounter: StateCounter;
  configuration: Pick<Configuration, 'settings'>;
  clock: Clock;
  log: Logger;
  priority: Priority;
}

/**
 * Creates an empty cache. @param earlier cache under another configuration: protections of patients are independent of the configuration
 */
export function createTenantCache(
  { id, formerly, targets }: Pick<TenantOutline, 'id' | 'formerly' | 'targets'>,
  earlier: Pick<TenantCache, 'protection'> | null,
  parts: TenantCacheParts,
): TenantCache {
  const { redis, room, stateCounter, clock } = parts;
  const identityKey = parts.configuration.settings.secrets.identityKey.reveal();
  const fresh = () => ({ fingerprints: new FingerprintMemory(), preparedContainer: null, idleTarget: null });
  return {
    links: createLinkStore(redis, id, identityKey, room),
    // A command ends after its work, so it needs no cache.
    memory: emptyStreamMemory(room, parts.priority === 'background'),
    source: emptySourceMemory(),
    protection:
      earlier?.protection ??
      createProtection({
        redis,
        tenant: formerly ?? id,
        identityKey,
        stateCounter: stateCounter.of(id, formerly ?? id),
        clock,
        log: parts.log.child({ tenant: id }),
      }),
    targets: new Map(targets.map((target) => [target.id, fresh()])),
  };
}

/**
 * Decides whether an idle tenant may be closed; reopening takes a millisecond or two. Not while a rotated token is possibly only in memory.
 * Not while a rebuild requires vendor requests: CRM metadata, inputs of derived fields, and application tokens valid for an hour.
 */
export function mayClose({
  tenant,
  connections,
}: {
  tenant: { targets: ReadonlyMap<string, Pick<OpenTarget, 'crm'>> };
  connections: ReadonlyMap<string, OpenConnection>;
}): boolean {
  const isCalendar = [...tenant.targets.values()].every(({ crm }) => crm === null);
  return isCalendar && [...connections.values()].every((connection) => connection.mayClose());
}
