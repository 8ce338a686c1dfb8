import type { HttpClient } from '../../core/http/client.ts';
import type { TenantConfiguration } from '../../settings/configuration.ts';
import type { RedisClient } from '../../state/redis.ts';
import type { Sealer } from '../../state/sealing.ts';
import type { WorkQueues } from '../../tenant/work-queues.ts';
import type { OpenTriggers, TriggerSource } from './ports.ts';
import { createTriggerNames } from './ports.ts';
import { triggerStatus } from './status.ts';
import { createTriggerStore } from './store.ts';

/** Parts of a tenant's triggers. */
export interface TriggerParts {
  tenant: TenantConfiguration;
  identityKey: Uint8Array;
  redis: RedisClient;
  sealer: Sealer;
  /** Opens the clinic for triggers. */
  openSource(): TriggerSource;
  queues: Pick<WorkQueues, 'wakeTriggers'>;
  http: HttpClient;
}

/** Opens the triggers of a tenant, without sending messages; null without configured triggers. */
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

/** Adds the functions for status. */
export function withStatus(parts: Omit<OpenTriggers, 'status'>): OpenTriggers {
  return { ...parts, status: () => triggerStatus(parts) };
}
