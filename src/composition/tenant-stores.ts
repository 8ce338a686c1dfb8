import type { OpenTenant } from '../jobs/tenant.ts';
import { type Clock, DAY_MS } from '../model/time.ts';
import type { TenantConfiguration } from '../settings/configuration.ts';
import { createTenantFeeds } from '../state/feeds.ts';
import { createHoldStore } from '../state/holds.ts';
import { createJournal } from '../state/journal.ts';
import { createUnansweredStore } from '../state/outages.ts';
import { createOutbox } from '../state/outbox.ts';
import type { RedisClient } from '../state/redis.ts';
import { createRunStore } from '../state/runs.ts';
import type { Sealer } from '../state/sealing.ts';
import { createStoredDocuments } from '../state/stored-documents.ts';
import { createTargetStore } from '../state/targets.ts';
import { createTombstoneStore } from '../state/tombstones.ts';
import type { TenantCache } from './closing.ts';

/** A tenant's state in Redis, but for its credentials and what belongs to one feature alone. */
export type TenantStores = Pick<
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
export interface TenantStoreParts {
  tenant: TenantConfiguration;
  redis: RedisClient;
  sealer: Sealer;
  /** Seals with the identity key. */
  proofs: Sealer;
  identityKey: Uint8Array;
  journalKeepDays: number;
  clock: Clock;
  /** What this process knows of the tenant since it was open before. */
  lasting: Pick<TenantCache, 'links' | 'protection'>;
}

/** Opens a tenant's stores. Nothing is read or written yet. */
export function openTenantStores(parts: TenantStoreParts): TenantStores {
  const { tenant, redis, sealer, proofs, identityKey } = parts;
  const { links, protection } = parts.lasting;
  const journalRetentionMs = parts.journalKeepDays * DAY_MS;
  return {
    feeds: createTenantFeeds(redis, tenant.id, sealer, identityKey),
    links,
    outbox: createOutbox(redis, tenant.id, { sealer, proofs, journalKeepMs: journalRetentionMs }, links),
    unanswered: createUnansweredStore(redis, tenant.id),
    journal: createJournal(redis, tenant.id, identityKey, {
      keepMs: journalRetentionMs,
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
