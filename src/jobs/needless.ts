import type { TenantOutline } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { keys } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { createRunStore } from '../state/runs.ts';
import type { JobName } from './catalogue.ts';

/** Whether a job of a tenant would find nothing to do. Safe to be wrong about in one direction: one that is not needless is done. */
export type IsNeedless = (job: JobName, tenant: string) => Promise<boolean>;

/** For whoever has every job done. */
export const neverNeedless: IsNeedless = async () => false;

/** What is asked about a tenant that need not be open. */
type Kept = Pick<TenantOutline, 'id' | 'formerly' | 'targets' | 'connections'>;

/**
 * Tells from Redis alone that a repeated job would change nothing, so that no tenant is opened for it: of a tenant that nobody is logged in
 * for there is no token to refresh, no target to be told of or to look at; and its cycle would say again what the last one said.
 * @param outlines the tenants as they are configured now
 */
export function createNeedless(redis: RedisClient, outlines: () => ReadonlyMap<string, Kept>): IsNeedless {
  const areNone = async (names: readonly string[]) => (await redis.exists(...names)) === 0;
  /** The login to the clinic, and what is known of targets. */
  const tracesOf = ({ id, targets }: Kept) => [
    keys.credential(id, CLINIC_CONNECTION),
    ...targets.map((target) => keys.target(id, target.id)),
  ];
  const checks: Partial<Record<JobName, (tenant: Kept) => Promise<boolean>>> = {
    async pull({ id, formerly, targets }) {
      const own = [keys.credential(id, CLINIC_CONNECTION), keys.holds(id)];
      if (!(await areNone([...own, ...targets.map((target) => keys.outbox(id, target.id))]))) return false;
      if (!(await areNone([keys.remindersOpen(formerly ?? id)]))) return false;
      const [last] = await createRunStore(redis, id).list(1);
      return last === undefined || last.error?.code === 'not-connected';
    },
    'refresh-tokens': ({ id, connections }) =>
      areNone([CLINIC_CONNECTION, ...connections].map((connection) => keys.credential(id, connection))),
    channels: (tenant) => areNone([keys.channels(tenant.id), ...tracesOf(tenant)]),
    audit: (tenant) => areNone(tracesOf(tenant)),
  };
  return async (job, tenant) => {
    const outline = outlines().get(tenant);
    return outline !== undefined && (await checks[job]?.(outline)) === true;
  };
}
