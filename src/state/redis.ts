import { Redis } from 'ioredis';
import type { Logger } from '../log/logger.ts';
import { MirrorError, redisUnreachable } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { pauseFor } from './pause.ts';

/** A connection to Redis. */
export type RedisClient = Redis;

/**
 * A connection on which something was asked and nothing came for this long is dropped and made again: its other end may be gone
 * without a word. Longer than the longest time that we ask Redis itself to wait (WAITAOF, 5 s).
 */
const SILENCE_MS = 7 * SECOND_MS;
/** No command waits longer than this, be it for an answer or for Redis to come back. */
const COMMAND_TIMEOUT_MS = 10 * SECOND_MS;
/** Pause between two questions whether Redis is there. */
const PING_EVERY_MS = 2 * SECOND_MS;

/** Opens a connection that keeps trying. A command waits for its answer, or for Redis to come back, at most ten seconds. */
export function connectRedis(url: string): RedisClient {
  return open(url, { maxRetriesPerRequest: 20, ...LIMITS });
}

/**
 * Opens a connection for BullMQ's workers. Its own commands have the time limits of every connection; the copies that BullMQ makes of
 * it wait for jobs without one, and are watched by BullMQ itself.
 */
export function connectForWorkers(url: string): RedisClient {
  const client = open(url, { maxRetriesPerRequest: null, ...LIMITS });
  client.duplicate = () => open(url, { maxRetriesPerRequest: null });
  return client;
}

const LIMITS = { commandTimeout: COMMAND_TIMEOUT_MS, socketTimeout: SILENCE_MS } as const;

interface Limits {
  maxRetriesPerRequest: number | null;
  commandTimeout?: number;
  socketTimeout?: number;
}

function open(url: string, limits: Limits): RedisClient {
  const client = new Redis(url, {
    enableReadyCheck: true,
    lazyConnect: false,
    keepAlive: 10 * SECOND_MS,
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 6), 2_000),
    ...limits,
  });
  // Without a listener ioredis prints every failed attempt; readiness reports the state instead.
  client.on('error', () => {});
  return client;
}

/** Whether Redis answers. */
export interface RedisWatch {
  /** Why Redis can't be relied on now; null while it answers. */
  trouble(): string | null;
  stop(): void;
}

/**
 * Asks Redis every two seconds whether it is there, and logs once when it fell silent and once when it is back.
 * @param options.silenceMs it counts as silent after this time without an answer
 */
export function watchRedis(
  client: RedisClient,
  log: Logger,
  { everyMs = PING_EVERY_MS, silenceMs = SILENCE_MS } = {},
): RedisWatch {
  const stopped = new AbortController();
  let answeredAt = performance.now();
  let silentSinceAt: number | null = null;
  const silentForMs = () => performance.now() - answeredAt;
  const look = setInterval(() => {
    if (silentSinceAt !== null || silentForMs() <= silenceMs) return;
    silentSinceAt = answeredAt;
    log.error({ silentForMs: Math.round(silentForMs()) }, 'Redis does not answer, no new work begins');
  }, everyMs / 2).unref();
  async function ping(): Promise<void> {
    await client.ping();
    if (silentSinceAt !== null) {
      log.info({ silentForMs: Math.round(performance.now() - silentSinceAt) }, 'Redis answers again');
    }
    silentSinceAt = null;
    answeredAt = performance.now();
  }
  async function keepAsking(): Promise<void> {
    while (!stopped.signal.aborted) {
      await ping().catch(() => {});
      await pauseFor(everyMs, stopped.signal).catch(() => {});
    }
  }
  void keepAsking();
  return {
    trouble() {
      if (client.status !== 'ready') return `the connection is ${client.status}`;
      if (silentForMs() > silenceMs) return `no answer for ${Math.floor(silentForMs() / SECOND_MS)} s`;
      return null;
    },
    stop() {
      stopped.abort();
      clearInterval(look);
    },
  };
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
    throw redisUnreachable(error);
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
