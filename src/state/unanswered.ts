import type { ItemKey } from '../model/operations.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/**
 * Keys whose writes got no answer, by target: such a write may still arrive, also after the object was deleted. Each is looked at once
 * more at its time. Keys are keyed hashes, so nothing here tells of a record.
 */
export interface UnansweredStore {
  /** Notes keys to be looked at; of several times the latest counts. */
  note(target: string, times: ReadonlyMap<ItemKey, Instant>): Promise<void>;
  /** At most `limit` keys whose time has come. */
  due(target: string, now: Instant, limit: number): Promise<ItemKey[]>;
  done(target: string, keys: readonly ItemKey[]): Promise<void>;
  /** When the next key is to be looked at; null when none waits. */
  nextAt(target: string): Promise<Instant | null>;
}

/** Opens the notes of a tenant. */
export function createUnansweredStore(redis: RedisClient, tenant: string): UnansweredStore {
  const name = (target: string) => keys.unanswered(tenant, target);
  return {
    async note(target, times) {
      if (times.size > 0) {
        const pipeline = redis.pipeline();
        for (const [key, at] of times) pipeline.zadd(name(target), 'GT', at, key);
        await pipeline.exec();
      }
    },
    due: (target, now, limit) => redis.zrangebyscore(name(target), '-inf', now, 'LIMIT', 0, limit),
    async done(target, looked) {
      if (looked.length > 0) await redis.zrem(name(target), ...looked);
    },
    async nextAt(target) {
      const [, at] = await redis.zrangebyscore(name(target), '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
      return at === undefined ? null : Number(at);
    },
  };
}
