import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** The clinic's own id of the tenant that a tenant of ours is bound to: set by its first login or cycle, then the only one it works in. */
export interface ClinicTenantStore {
  /** Null before the first time. */
  read(): Promise<string | null>;
  /**
   * Binds to a tenant.
   * @param replace the operator chose it; else what another process was bound to meanwhile stays
   * @returns the one that is bound to now
   */
  bind(id: string, replace: boolean): Promise<string>;
}

/** Opens the binding of one tenant. */
export function createClinicTenantStore(redis: RedisClient, tenant: string): ClinicTenantStore {
  const key = keys.clinicTenant(tenant);
  return {
    read: () => redis.get(key),
    async bind(id, replace) {
      if (replace) await redis.set(key, id);
      else await redis.set(key, id, 'NX');
      return (await redis.get(key)) ?? id;
    },
  };
}
