import type { Redis } from 'ioredis';

/** Why a Redis that answers refuses writes: `OOM`, `NOREPLICAS`, `READONLY`, `NOPERM`. */
export const REFUSALS = ['full', 'replicas', 'read-only', 'denied'] as const;

/** One of {@link REFUSALS}. */
export type Refusal = (typeof REFUSALS)[number];

/** More than any script starts. */
const TOO_MANY_REPLICAS = '9';
/** Nothing listens there. */
const NO_MASTER = ['127.0.0.1', '1'] as const;

/** Makes a server refuse writes. @returns the way back */
export async function refuseWrites(redis: Redis, how: Refusal): Promise<() => Promise<unknown>> {
  switch (how) {
    case 'full':
      await redis.config('SET', 'maxmemory', '1');
      return () => redis.config('SET', 'maxmemory', '0');
    case 'replicas':
      await redis.config('SET', 'min-replicas-to-write', TOO_MANY_REPLICAS);
      return () => redis.config('SET', 'min-replicas-to-write', '0');
    case 'read-only':
      await redis.call('REPLICAOF', ...NO_MASTER);
      return () => redis.call('REPLICAOF', 'NO', 'ONE');
    case 'denied':
      await redis.acl('SETUSER', 'default', '-@write');
      return () => redis.acl('SETUSER', 'default', '+@all');
  }
}
