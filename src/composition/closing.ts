import { emptySourceMemory, type SourceMemory } from '../clinic/tenant-source.ts';
import { emptyStreamMemory, type StreamMemory } from '../jobs/stream-memory.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import type { Logger } from '../log/logger.ts';
import type { CacheBudget } from '../model/cache.ts';
import type { Clock } from '../model/time.ts';
import type { Configuration, TenantOutline } from '../settings/configuration.ts';
import type { Priority } from '../state/budget.ts';
import { createLinkStore, type LinkStore } from '../state/links.ts';
import { createProtection, type Protection } from '../state/protection.ts';
import type { RedisClient } from '../state/redis.ts';
import type { StateCounter } from '../state/state-counter.ts';
import { FingerprintMemory } from '../sync/identity.ts';
import type { OpenConnection } from './open-connection.ts';
import type { CachedTarget } from './targets.ts';

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
  epoch: StateCounter;
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
  const { redis, room, epoch, clock } = parts;
  const identityKey = parts.configuration.settings.secrets.identityKey.reveal();
  const fresh = () => ({ fingerprints: new FingerprintMemory(), preparedContainer: null, settled: null });
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
        epoch: epoch.of(id, formerly ?? id),
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
