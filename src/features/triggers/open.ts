import type { HttpClient } from '../../http/client.ts';
import type { WorkQueues } from '../../jobs/queues.ts';
import type { TenantConfiguration } from '../../settings/configuration.ts';
import type { RedisClient } from '../../state/redis.ts';
import type { Sealer } from '../../state/sealing.ts';
import type { OpenTriggers, TriggerSource } from './ports.ts';
import { createTriggerNames } from './ports.ts';
import { triggerStatus } from './status.ts';
import { createTriggerStore } from './store.ts';

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
  return withStatus({
    file: tenant.triggers,
    source: openSource(),
    store: createTriggerStore(redis, tenant.id, sealer),
    name: createTriggerNames(identityKey, tenant.formerly ?? tenant.id),
    http,
    wake: (delayMs, options) => queues.wakeTriggers(tenant.id, delayMs, options),
  });
}

/** Adds what status asks for. */
export function withStatus(parts: Omit<OpenTriggers, 'status'>): OpenTriggers {
  return { ...parts, status: () => triggerStatus(parts) };
}
