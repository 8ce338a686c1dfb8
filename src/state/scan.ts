import { type RedisClient, serversOf } from './redis.ts';

/** Keys that are looked at in one step of a scan. */
const KEYS_AT_ONCE = 500;

/**
 * Names of all keys like a pattern; one may come twice. What comes in or goes meanwhile may or may not be among them.
 * @param pattern as Redis' own SCAN takes it; brackets of all kinds but `[` stand for themselves
 */
export async function* keysLike(redis: RedisClient, pattern: string): AsyncGenerator<string> {
  for (const server of await serversOf(redis)) {
    let cursor = '0';
    do {
      const [next, names] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
      yield* names;
      cursor = next;
    } while (cursor !== '0');
  }
}
