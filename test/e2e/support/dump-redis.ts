import type { Redis } from 'ioredis';

/** Every key with its whole content as text, whatever its type. */
export async function dumpRedis(connection: Redis): Promise<Map<string, string>> {
  const keys = (await connection.keys('*')).sort();
  return new Map(await Promise.all(keys.map(async (key) => [key, await contentOf(connection, key)] as const)));
}

async function contentOf(connection: Redis, key: string): Promise<string> {
  switch (await connection.type(key)) {
    case 'string':
      return String(await connection.get(key));
    case 'hash':
      return JSON.stringify(Object.entries(await connection.hgetall(key)).sort());
    case 'list':
      return JSON.stringify(await connection.lrange(key, 0, -1));
    case 'set':
      return JSON.stringify((await connection.smembers(key)).sort());
    case 'zset':
      return JSON.stringify(await connection.zrange(key, '0', '-1', 'WITHSCORES'));
    case 'stream':
      return JSON.stringify(await connection.xrange(key, '-', '+'));
    default:
      return '';
  }
}
