import { Redis } from 'ioredis';
import { MirrorError } from '../model/errors.ts';

/** A connection to Redis. */
export type RedisClient = Redis;

/**
 * Opens a connection that keeps trying. Commands wait while Redis is away, at most `commandTimeoutMs`.
 * @param options.blocking for BullMQ's workers: commands may wait without limit
 */
export function connectRedis(
  url: string,
  options: { blocking?: boolean; commandTimeoutMs?: number } = {},
): RedisClient {
  const blocking = options.blocking ?? false;
  const client = new Redis(url, {
    maxRetriesPerRequest: blocking ? null : 20,
    enableReadyCheck: true,
    lazyConnect: false,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
    ...(blocking || options.commandTimeoutMs === undefined ? {} : { commandTimeout: options.commandTimeoutMs }),
  });
  // Without a listener ioredis prints every failed attempt; readiness reports the state instead.
  client.on('error', () => {});
  return client;
}

/**
 * What a Redis must be for our state to survive: version 7 or newer, append-only file on, nothing evicted.
 * @param signal ends the waiting for a Redis that doesn't answer
 * @throws MirrorError `settings` when it is another one; `remote`, code `redis-unreachable`, when it didn't answer
 */
export async function checkRedis(client: RedisClient, signal: AbortSignal): Promise<void> {
  const given = Promise.withResolvers<never>();
  const giveUp = () => given.reject(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  const answers = Promise.all([
    client.info('server'),
    configValue(client, 'appendonly'),
    configValue(client, 'maxmemory-policy'),
  ]);
  try {
    requireDurable(...(await Promise.race([answers, given.promise])));
  } catch (error) {
    if (error instanceof MirrorError) throw error;
    throw new MirrorError('Redis does not answer', {
      actor: 'remote',
      code: 'redis-unreachable',
      retry: 'later',
      remedy: 'see that Redis runs, and that redis.url is its address',
      cause: error,
    });
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

function requireDurable(info: string, appendOnly: string | null, policy: string | null): void {
  const version = /redis_version:(\d+)/.exec(info)?.[1];
  if (version !== undefined && Number(version) < 7) {
    throw redisSettingError('redis-too-old', 'Redis is older than version 7', 'run Redis 7 or newer (or Valkey)');
  }
  if (appendOnly !== null && appendOnly !== 'yes') {
    throw redisSettingError(
      'redis-not-durable',
      'Redis does not keep an append-only file, so a restart would lose state',
      'set "appendonly yes" in its configuration',
    );
  }
  if (policy !== null && policy !== 'noeviction') {
    throw redisSettingError(
      'redis-evicts',
      'Redis may evict keys when memory is short, which would lose state',
      'set "maxmemory-policy noeviction" in its configuration',
    );
  }
}

/** A managed Redis may refuse CONFIG; what can't be read is not held against it. */
async function configValue(client: RedisClient, name: string): Promise<string | null> {
  try {
    const answer = (await client.config('GET', name)) as unknown;
    return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : null;
  } catch {
    return null;
  }
}

function redisSettingError(code: string, message: string, remedy: string): MirrorError {
  return new MirrorError(message, { actor: 'settings', code, retry: 'never', remedy });
}
