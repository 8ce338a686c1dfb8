import { emptySourceMemory, type SourceMemory } from '../clinic/tenant-source.ts';
import { emptyStreamMemory, type StreamMemory } from '../jobs/stream-memory.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import type { Logger } from '../log/logger.ts';
import type { CacheBudget } from '../model/cache.ts';
import { type Clock, DAY_MS } from '../model/time.ts';
import type { Configuration, TenantConfiguration, TenantOutline } from '../settings/configuration.ts';
import type { Priority } from '../state/budget.ts';
import { createTenantFeeds } from '../state/feeds.ts';
import { createHoldStore } from '../state/holds.ts';
import { createJournal } from '../state/journal.ts';
import { createLinkStore, type LinkStore } from '../state/links.ts';
import { createUnansweredStore } from '../state/outages.ts';
import { createOutbox } from '../state/outbox.ts';
import { createProtection, type Protection } from '../state/protection.ts';
import type { RedisClient } from '../state/redis.ts';
import { createRunStore } from '../state/runs.ts';
import type { Sealer } from '../state/sealing.ts';
import type { StateCounter } from '../state/state-counter.ts';
import { createStoredDocuments } from '../state/stored-documents.ts';
import { createTargetStore } from '../state/targets.ts';
import { createTombstoneStore } from '../state/tombstones.ts';
import { FingerprintMemory } from '../sync/identity.ts';
import type { OpenConnection } from './open-connection.ts';
import type { CachedTarget } from './targets.ts';

/** A tenant's state in Redis, but for its credentials and what belongs to one feature alone. */
type TenantStores = Pick<
  OpenTenant,
  | 'feeds'
  | 'links'
  | 'outbox'
  | 'unanswered'
  | 'journal'
  | 'targetStore'
  | 'holds'
  | 'runs'
  | 'protection'
  | 'tombstones'
  | 'plans'
  | 'tasks'
>;

/** What a tenant's stores are opened with. */
interface TenantStoreParts {
  tenant: TenantConfiguration;
  redis: RedisClient;
  sealer: Sealer;
  /** Seals with the identity key. */
  proofs: Sealer;
  identityKey: Uint8Array;
  journalRetentionDays: number;
  clock: Clock;
  /** What this process knows of the tenant since it was open before. */
  sharedCaches: Pick<TenantCache, 'links' | 'protection'>;
}

/** Opens a tenant's stores. Nothing is read or written yet. */
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
    targetStore: createTargetStore(redis, tenant.id, proofs),
    holds: createHoldStore(redis, tenant.id, sealer),
    runs: createRunStore(redis, tenant.id, proofs),
    plans: createStoredDocuments(redis, tenant.id, 'plan', parts),
    tasks: createStoredDocuments(redis, tenant.id, 'task', parts),
    protection,
    tombstones: createTombstoneStore(redis, tenant.formerly ?? tenant.id, identityKey, protection),
  };
}

/** Tenants that are open at once, beside those that may not be closed. */
export const OPEN_TENANTS = 100;

/** What this process knows of a tenant and could not have again for nothing, small as it is: it stays when the tenant is closed. */
export interface TenantCache {
  links: LinkStore;
  memory: StreamMemory;
  source: SourceMemory;
  protection: Protection;
  /** By target. */
  targets: ReadonlyMap<string, CachedTarget>;
}

/** What is kept is opened with. */
interface TenantCacheParts {
  redis: RedisClient;
  room: CacheBudget;
  stateCounter: StateCounter;
  configuration: Pick<Configuration, 'settings'>;
  clock: Clock;
  log: Logger;
  priority: Priority;
}

/** Nothing is known yet. @param earlier of the same tenant under another configuration: what protects people goes by no configuration */
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
    // A person's command does its work and ends.
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
 * Whether a tenant at which nobody works may be closed: all else that it holds is made again from its configuration in a millisecond or
 * two. Not while a rotated token may be in memory alone. Nor where reading or asking again would cost the other side: what CRMs tell of
 * themselves and what derived fields are computed from, and tokens that an application was given for an hour.
 */
export function mayClose({
  tenant,
  connections,
}: {
  tenant: Pick<OpenTenant, 'targets'>;
  connections: ReadonlyMap<string, OpenConnection>;
}): boolean {
  const isCalendar = [...tenant.targets.values()].every(({ crm }) => crm === null);
  return isCalendar && [...connections.values()].every((connection) => connection.mayClose());
}
