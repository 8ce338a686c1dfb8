import type { RedisClient } from './redis.ts';

/** Keys that are looked at in one step of a scan. */
const KEYS_AT_ONCE = 500;

/**
 * Names of all keys like a pattern, each once. What comes in or goes meanwhile may or may not be among them. On a Redis Cluster it sees
 * one node only.
 * @param pattern as Redis' own SCAN takes it; brackets of all kinds but `[` stand for themselves
 */
export async function* keysLike(redis: RedisClient, pattern: string): AsyncGenerator<string> {
  const seen = new Set<string>();
  let cursor = '0';
  do {
    const [next, names] = await redis.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
    for (const name of names) {
      if (seen.has(name)) continue;
      seen.add(name);
      yield name;
    }
    cursor = next;
  } while (cursor !== '0');
}
