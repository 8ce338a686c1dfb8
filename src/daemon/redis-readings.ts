import { storedError } from '../core/model/errors.ts';
import type { RedisReadings } from '../core/model/state-schemas.ts';
import type { Clock, Instant } from '../core/model/time.ts';
import { keys } from '../state/keys.ts';
import { DAEMON_SEEN_LIFE_MS, proveWrites, type RedisClient, refusalOf, serversOf } from '../state/redis.ts';

/** Reads the clock of Redis. @throws errors of Redis */
export async function timeOf(redis: Pick<RedisClient, 'time'>): Promise<Instant> {
  const [seconds, microseconds] = (await redis.time()) as [number | string, number | string];
  return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
}

/** Returns the conversion of times of this host to the clock of Redis. The delay of the answer makes them slightly older, never newer. */
export function timeByRedis(redis: Pick<RedisClient, 'time'>, clock: Clock): (at: Instant) => Promise<Instant> {
  return async (at) => {
    const theirs = await timeOf(redis);
    return at + theirs - clock();
  };
}

/** Reads the memory of the fullest server; null if no server reports its memory. @throws errors of a Redis that does not answer */
async function memoryOf(redis: RedisClient): Promise<RedisReadings['memory']> {
  let fullest: RedisReadings['memory'] = null;
  const refusal = await refusalOf(async () => {
    for (const server of await serversOf(redis)) {
      const info = await server.info('memory');
      const [used, limit] = ['used_memory', 'maxmemory'].map(
        (name) => new RegExp(`^${name}:(\\d+)`, 'm').exec(info)?.[1],
      );
      if (used === undefined) continue;
      const found = { usedBytes: Number(used), limitBytes: Number(limit ?? 0) || null };
      if (fullest === null || fillingOf(found) > fillingOf(fullest)) fullest = found;
    }
  });
  return refusal === null ? fullest : null;
}

function fillingOf({ usedBytes, limitBytes }: NonNullable<RedisReadings['memory']>): number {
  return limitBytes === null ? 0 : usedBytes / limitBytes;
}

/** Writes a short-lived key, compares the clocks, and reads the memory. @throws errors of a Redis that does not answer */
export async function readRedis(redis: RedisClient, clock: Clock): Promise<RedisReadings> {
  const refused = await refusalOf(() => proveWrites(redis));
  const before = clock();
  const askedAt = performance.now();
  const theirs = await timeOf(redis);
  const answerMs = Math.round((performance.now() - askedAt) * 10) / 10;
  const clockAheadMs = Math.round((before + clock()) / 2 - theirs);
  const remainingMs = await redis.pttl(keys.daemonSeen());
  return {
    refusal: refused === null ? null : storedError(refused),
    clockAheadMs,
    daemonSeenAgoMs: remainingMs < 0 ? null : DAEMON_SEEN_LIFE_MS - remainingMs,
    answerMs,
    memory: await memoryOf(redis),
  };
}
