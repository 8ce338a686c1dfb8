import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet } from './script.ts';
import { openSealed, type Sealer } from './sealing.ts';

/** The clinic's own id of the tenant that a tenant of ours is bound to: set by its first login or cycle, then the only one it works in. */
export interface ClinicTenantStore {
  /** Null before the first time, and where what stands there was not put in by us. */
  read(): Promise<string | null>;
  /**
   * Binds to a tenant.
   * @param replace the operator chose it; else what another process was bound to meanwhile stays
   * @returns the one that is bound to now
   */
  bind(id: string, replace: boolean): Promise<string>;
}

const CONTEXT = 'clinic-tenant';

/**
 * Opens the binding of one tenant.
 * @param sealer seals with the identity key, so that nobody who can write into Redis alone has another clinic's appointments read
 */
export function createClinicTenantStore(redis: RedisClient, tenant: string, sealer: Sealer): ClinicTenantStore {
  const key = keys.clinicTenant(tenant);
  const boundBy = (value: string | null) => (value === null ? null : openSealed<string>(sealer, value, CONTEXT));
  return {
    read: async () => boundBy(await redis.get(key)),
    async bind(id, replace) {
      for (;;) {
        const before = await redis.get(key);
        const bound = boundBy(before);
        if (bound !== null && !replace) return bound;
        const value = sealer.seal(JSON.stringify(id), CONTEXT);
        if ((await compareAndSet(redis, [{ key, value: before }], [{ key, value }])) === null) return id;
      }
    },
  };
}
