import { storedError } from '../model/errors.ts';
import type { RedisReadings } from '../model/state-schemas.ts';
import type { Clock, Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import { DAEMON_SEEN_LIFE_MS, proveWrites, type RedisClient, refusalOf } from './redis.ts';

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

/** Writes a short-lived key and compares the clocks. @throws errors of a Redis that does not answer */
export async function readRedis(redis: RedisClient, clock: Clock): Promise<RedisReadings> {
  const refused = await refusalOf(() => proveWrites(redis));
  const before = clock();
  const theirs = await timeOf(redis);
  const clockAheadMs = Math.round((before + clock()) / 2 - theirs);
  const remainingMs = await redis.pttl(keys.daemonSeen());
  return {
    refusal: refused === null ? null : storedError(refused),
    clockAheadMs,
    daemonSeenAgoMs: remainingMs < 0 ? null : DAEMON_SEEN_LIFE_MS - remainingMs,
  };
}
