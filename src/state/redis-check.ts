import { Cluster, type Redis } from 'ioredis';
import type { Logger } from '../log/logger.ts';
import { message } from '../messages/message.ts';
import { asMirrorError, MirrorError, redisUnreachable } from '../model/errors.ts';
import { MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { type RedisClient, serversOf } from './redis.ts';
import { refusedLogin, requireRights } from './redis-rights.ts';

/**
 * Checks again every minute, and says in the log what is wrong: a server that took over may be set up otherwise than the one before.
 * @returns ends it
 */
export function checkRepeatedly(
  client: RedisClient,
  log: Logger,
  everyMs = MINUTE_MS,
  from: string | null = null,
): () => void {
  const stop = new AbortController();
  const timer = setInterval(() => {
    checkRedis(client, stop.signal, from).catch((error: unknown) => {
      const { actor, code, message, remedy } = asMirrorError(error);
      // That it is away is told by who watches it.
      if (actor === 'settings') log.error({ code, remedy }, message);
    });
  }, everyMs).unref();
  return () => {
    clearInterval(timer);
    stop.abort();
  };
}

/**
 * What a Redis must be for our state to survive: version 7 or newer, append-only file on, nothing evicted, and closed to whoever gives no
 * password where we give one. Of a cluster each master is.
 * @param signal ends the waiting for a Redis that doesn't answer
 * @param from the file or variable that the address is read from, which is named when it is refused; null: none
 * @throws MirrorError `settings` when it is another one, or does not take our login; `remote`, code `redis-unreachable`, when it didn't
 * answer
 */
export async function checkRedis(client: RedisClient, signal: AbortSignal, from: string | null = null): Promise<void> {
  const cancellation = Promise.withResolvers<never>();
  const giveUp = () => cancellation.reject(signal.reason);
  if (signal.aborted) giveUp();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    const checked = serversOf(client).then((servers) => Promise.all(servers.map(checkServer)));
    await Promise.race([checked, cancellation.promise]);
  } catch (error) {
    if (error instanceof MirrorError) throw error;
    if (error instanceof Error && error.message.startsWith('NOPERM')) await requireRights(client);
    const failure = (await refusedLogin(client)) ?? redisUnreachable(error, addressOf(client));
    throw from === null ? failure : failure.reworded(failure.message, `${failure.remedy}; it is read from ${from}`);
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Where one server is asked; null where others tell which one it is. */
function addressOf(client: RedisClient): string | null {
  if (client instanceof Cluster || client.options.sentinels) return null;
  const { host, port, path } = client.options;
  return path ?? `${host}:${port}`;
}

/**
 * Why what is kept now may be lost, as {@link checkRedis} says it; null when it is kept, and when Redis does not answer, which others
 * tell. Cheap: it opens no connection.
 */
export async function whyNotDurable(client: RedisClient): Promise<MirrorError | null> {
  try {
    await Promise.all((await serversOf(client)).map(checkDurability));
    return null;
  } catch (error) {
    return error instanceof MirrorError ? error : null;
  }
}

async function checkDurability(server: Redis): Promise<void> {
  requireDurable(
    ...(await Promise.all([
      server.info('server'),
      configValue(server, 'appendonly'),
      configValue(server, 'maxmemory-policy'),
    ])),
  );
}

async function checkServer(server: Redis): Promise<void> {
  await checkDurability(server);
  if (await letsStrangersIn(server)) {
    throw redisSettingError('redis-open');
  }
}

/** Whether a password is given that this server asks nobody for. Without an answer nothing is held against it. */
async function letsStrangersIn(server: Redis): Promise<boolean> {
  if ((server.options.password ?? '') === '') return false;
  const stranger = server.duplicate({
    ...{ username: undefined, password: undefined, protocol: 2, enableReadyCheck: false },
    ...{ maxRetriesPerRequest: 0, retryStrategy: () => null },
  });
  stranger.on('error', () => {});
  try {
    await stranger.exists(keys.epoch(0));
    return true;
  } catch (error) {
    // Of a cluster another server has this key: it would have answered.
    return error instanceof Error && error.message.startsWith('MOVED');
  } finally {
    stranger.disconnect();
  }
}

function requireDurable(info: string, appendOnly: string | null, policy: string | null): void {
  const version = /redis_version:(\d+)/.exec(info)?.[1];
  if (version !== undefined && Number(version) < 7) {
    throw redisSettingError('redis-too-old');
  }
  if (appendOnly !== null && appendOnly !== 'yes') {
    throw redisSettingError('redis-not-durable');
  }
  if (policy !== null && policy !== 'noeviction') {
    throw redisSettingError('redis-evicts');
  }
}

/** A managed Redis may refuse CONFIG; what can't be read is not held against it. */
async function configValue(client: Redis, name: string): Promise<string | null> {
  try {
    const answer = (await client.config('GET', name)) as unknown;
    return Array.isArray(answer) && typeof answer[1] === 'string' ? answer[1] : null;
  } catch {
    return null;
  }
}

type RedisFault = 'redis-evicts' | 'redis-not-durable' | 'redis-open' | 'redis-too-old';

function redisSettingError(code: string & RedisFault): MirrorError {
  return new MirrorError(message(code), { actor: 'settings', code, retry: 'never', remedy: message(`${code}.remedy`) });
}
