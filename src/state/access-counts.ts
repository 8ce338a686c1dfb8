import { MINUTE_MS } from '../model/time.ts';
import { type Counted, countOne } from './counting.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Counts by whoever it is that asks, which all processes share. */
export interface CallerCounts {
  /** Counts one of theirs. @param most that are let through in a window */
  count(who: string, most: number): Promise<Counted>;
  /** Begins anew with theirs. */
  clear(who: string): Promise<void>;
}

/** What is counted of whoever wants in, and of who is in. */
export interface AccessCounts {
  /** Tries to sign in, within a quarter of an hour. */
  attempts: CallerCounts;
  /** Requests for pages and of the API, within a minute. */
  requests: CallerCounts;
}

/** Opens the counts. @param nameOf a name for whoever it is that tells nothing */
export function createAccessCounts(redis: RedisClient, nameOf: (who: string) => string): AccessCounts {
  const countsOf = (keyOf: (name: string) => string, windowMs: number): CallerCounts => ({
    count: (who, most) => countOne(redis, windowMs, [{ key: keyOf(nameOf(who)), most }]),
    async clear(who) {
      await redis.del(keyOf(nameOf(who)));
    },
  });
  return {
    attempts: countsOf(keys.signInAttempts, 15 * MINUTE_MS),
    requests: countsOf(keys.requests, MINUTE_MS),
  };
}
