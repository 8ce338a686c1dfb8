import { keyKinds } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { type Sealer, sealedValue } from '../state/sealing.ts';

const { ofTenant } = keyKinds({ isReadUnderFormerIds: false });

/**
 * Keys of a tenant's clinic in Redis. `T` is the tenant's id. For terms and lifetimes, see `state/keys.ts`.
 *
 * | key                                  | type   | lifetime          | writer            | reader                |
 * |--------------------------------------|--------|-------------------|-------------------|-----------------------|
 * | `cm:{T}:clinic-tenant`               | string | permanent         | oauth, planner    | clients of the clinic |
 */
export const clinicKeys = {
  clinicTenant: ofTenant('clinic-tenant'),
} as const;

/**
 * Opens a tenant's binding to the clinic's tenant id: set by the first authorization or cycle, and required from then on.
 * @param sealer encrypts with the identity key, so that an attacker with mere write access to Redis cannot redirect reading to a different
 * clinic
 */
export function createClinicTenantStore(redis: RedisClient, tenant: string, sealer: Sealer) {
  const bound = sealedValue<string>(clinicKeys.clinicTenant(tenant), { redis, sealer, kind: 'clinic-tenant' });
  return {
    /** Null if unbound or damaged. */
    read: bound.get,
    /**
     * Binds the tenant.
     * @param replace whether the operator chose the id; otherwise an existing binding stays
     * @returns the current binding
     */
    async bind(id: string, replace: boolean): Promise<string> {
      for (;;) {
        const { value, sealed } = await bound.read();
        if (value !== null && !replace) return value;
        if (await bound.replace(sealed, id)) return id;
      }
    },
  };
}
