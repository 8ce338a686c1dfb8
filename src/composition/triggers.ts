import type { HttpClient } from '../http/client.ts';
import type { OpenTriggers, TriggerSource } from '../jobs/open-triggers.ts';
import type { WorkQueues } from '../jobs/queues.ts';
import type { TenantConfiguration } from '../settings/configuration.ts';
import type { RedisClient } from '../state/redis.ts';
import type { Sealer } from '../state/sealing.ts';
import { createTriggerStore } from '../state/triggers.ts';
import { createTriggerNames } from '../triggers/identity.ts';

/** What a tenant's triggers are opened with. */
export interface TriggerParts {
  tenant: TenantConfiguration;
  identityKey: Uint8Array;
  redis: RedisClient;
  sealer: Sealer;
  /** The clinic, for what receivers are told of. */
  openSource(): TriggerSource;
  queues: Pick<WorkQueues, 'wakeTriggers'>;
  http: HttpClient;
}

/** Opens a tenant's triggers; null where none are configured. Nobody is told of anything yet. */
export function openTriggers(parts: TriggerParts): OpenTriggers | null {
  const { tenant, identityKey, redis, sealer, openSource, queues, http } = parts;
  if (tenant.triggers === undefined) return null;
  return {
    file: tenant.triggers,
    source: openSource(),
    store: createTriggerStore(redis, tenant.id, sealer),
    name: createTriggerNames(identityKey, tenant.formerly ?? tenant.id),
    http,
    wake: (delayMs, options) => queues.wakeTriggers(tenant.id, delayMs, options),
  };
}
