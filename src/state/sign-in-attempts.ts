import { MINUTE_MS } from '../model/time.ts';
import { COUNT } from './counter-scripts.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Tries to sign in, by who makes them and as whom. */
export interface SignInAttempts {
  /** Counts one. @returns how many it makes within the last quarter of an hour, this one too */
  count(who: string): Promise<number>;
  /** Removes those of who succeeded. */
  clear(who: string): Promise<void>;
}

const WINDOW_MS = 15 * MINUTE_MS;

/** Opens the counters, which all processes share. @param nameOf a name for whoever it is that tells nothing */
export function createSignInAttempts(redis: RedisClient, nameOf: (who: string) => string): SignInAttempts {
  return {
    count: async (who) => Number(await redis.eval(COUNT, 1, keys.signInAttempts(nameOf(who)), WINDOW_MS)),
    async clear(who) {
      await redis.del(keys.signInAttempts(nameOf(who)));
    },
  };
}
