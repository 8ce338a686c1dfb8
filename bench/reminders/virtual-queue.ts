import type { Alarms, Wake } from '../../src/jobs/queues.ts';
import type { RedisClient } from '../../src/state/redis.ts';

/*
 * A queue of delayed jobs on the simulated clock, in Redis, with the guarantees of BullMQ: a job exists once by its id, remains while it
 * runs, is repeated if its worker died or it failed (three attempts), and can be withdrawn while it waits.
 */

/** A job that was taken and must be ended. */
export interface TakenJob {
  id: string;
  tenant: string;
  reminder: string;
}

const WAITING = '{simulation}:waiting';
const ACTIVE = '{simulation}:active';
const TRIES = '{simulation}:tries';
const MOST_TRIES = 3;

/** KEYS: waiting, active. ARGV: pairs of time and id. */
const SET = `for at = 1, #ARGV, 2 do
  if redis.call('HEXISTS', KEYS[2], ARGV[at + 1]) == 0 then redis.call('ZADD', KEYS[1], 'NX', ARGV[at], ARGV[at + 1]) end
end`;
/** KEYS: waiting, active. ARGV: now, most. */
const TAKE = `local ids = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do redis.call('ZREM', KEYS[1], id) redis.call('HSET', KEYS[2], id, 1) end
return ids`;

/** A worker's side of the queue. */
export function openVirtualAlarms(redis: RedisClient, tenant: string): Alarms {
  const idOf = ({ id, wakeAt }: Wake) => `${tenant} ${id} ${wakeAt}`;
  return {
    async set(wakes) {
      if (wakes.length === 0) return;
      const pairs = wakes.flatMap((wake) => [wake.wakeAt, idOf(wake)]);
      await redis.eval(SET, 2, WAITING, ACTIVE, ...pairs);
    },
    async cancel(wakes) {
      if (wakes.length > 0) await redis.zrem(WAITING, ...wakes.map(idOf));
    },
  };
}

/** The scheduler's side of the queue. */
export type VirtualQueue = ReturnType<typeof openVirtualQueue>;

/** Opens it. */
export function openVirtualQueue(redis: RedisClient) {
  return {
    /** When the first one is due; null when none waits. */
    async nextAt(): Promise<number | null> {
      const [, score] = await redis.zrange(WAITING, '0', '0', 'WITHSCORES');
      return score === undefined ? null : Number(score);
    },
    async take(now: number, most: number): Promise<TakenJob[]> {
      const ids = (await redis.eval(TAKE, 2, WAITING, ACTIVE, now, most)) as string[];
      return ids.map((id) => {
        const [tenant = '', reminder = ''] = id.split(' ');
        return { id, tenant, reminder };
      });
    },
    /** It is done. */
    async end({ id }: TakenJob): Promise<void> {
      await redis.multi().hdel(ACTIVE, id).hdel(TRIES, id).exec();
    },
    /** Its worker died, or it failed. @returns whether it comes again */
    async again({ id }: TakenJob, at: number, hasFailed: boolean): Promise<boolean> {
      await redis.hdel(ACTIVE, id);
      if (hasFailed && (await redis.hincrby(TRIES, id, 1)) >= MOST_TRIES) return false;
      await redis.zadd(WAITING, at, id);
      return true;
    },
  };
}
