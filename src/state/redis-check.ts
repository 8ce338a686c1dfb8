import { Cluster, type Redis } from 'ioredis';
import type { Logger } from '../core/log/logger.ts';
import { asMirrorError, MirrorError, redisFaultOf, redisUnreachable } from '../core/model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import { keys } from './keys.ts';
import { type RedisClient, serversOf } from './redis.ts';

/**
 * Checks every minute and logs problems: a server after a failover may have a different configuration.
 * @returns a function that stops the checks
 */
export function checkRepeatedly(
  client: RedisClient,
  log: Logger,
  everyMs = MINUTE_MS,
  from: Text | null = null,
): () => void {
  const stop = new AbortController();
  const timer = setInterval(() => {
    checkRedis(client, stop.signal, from).catch((error: unknown) => {
      const { actor, code, message, remedy } = asMirrorError(error);
      // A different component reports an unavailable Redis.
      if (actor === 'settings') log.error({ code, remedy }, message);
    });
  }, everyMs).unref();
  return () => {
    clearInterval(timer);
    stop.abort();
  };
}

/**
 * Checks the requirements for a durable state: version 7 or newer, an append-only file, no eviction, and no access without a password if a
 * password is configured. On a cluster, checks each master.
 * @param signal aborts the wait for an unresponsive Redis
 * @param from file or variable with the URL, named in errors; null: none
 * @throws MirrorError `settings` for an unsuitable server or refused credentials; `remote`, code `redis-unreachable`, without an answer
 */
export async function checkRedis(client: RedisClient, signal: AbortSignal, from: Text | null = null): Promise<void> {
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
    const fault = redisFaultOf(error);
    const refused = fault === null || fault.code === 'redis-unreachable' ? null : fault;
    const failure = (await refusedLogin(client)) ?? refused ?? redisUnreachable(error, addressOf(client));
    throw from === null
      ? failure
      : failure.reworded(
          failure.texts.message,
          message('secret.read-from', { remedy: failure.texts.remedy ?? '', sources: from }),
        );
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}

/** Returns the server's URL; null if sentinels or a cluster determine the server. */
function addressOf(client: RedisClient): string | null {
  if (client instanceof Cluster || client.options.sentinels) return null;
  const { host, port, path } = client.options;
  return path ?? `${host}:${port}`;
}

/**
 * Returns why data may be lost, with the errors of {@link checkRedis}; null if durable, or without an answer, which a different component
 * reports. Cheap: opens no connection.
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

/** Returns whether the server needs no password although a password is configured. False without an answer. */
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
    // On a cluster, a different server has this key: the server would have answered.
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

/** A managed Redis may refuse CONFIG; unreadable values pass the check. */
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

/** Unused names, in the form of the keys in `keys.ts` and of BullMQ's keys. */
const TEST_KEYS = ['cm:{rights}:nothing', '{clinic-mirror}:rights-nothing'] as const;
/** Longest answer time of an available server. Our choice. */
const ANSWER_MS = 3 * SECOND_MS;
/** Commands that an error names; the remaining commands are counted. */
const NAMED = 5;

/** All required commands, as allowed by config/redis-users.acl, with valid arguments; K is a key. */
const COMMANDS = `
  ping|info|time|scan 0|wait 0 1|waitaof 0 0 1|eval return(1) 0|evalsha ${'0'.repeat(40)} 0
  del K|exists K|persist K|pexpire K 1|pexpireat K 1|pttl K|rename K K|type K|unlink K
  get K|getdel K|incr K|incrby K 1|mget K|set K 1
  hdel K f|hexists K f|hget K f|hgetall K|hincrby K f 1|hkeys K|hlen K|hmget K f|hmset K f 1|hscan K 0|hset K f 1|hsetnx K f 1|hvals K
  lindex K 0|llen K|lpop K|lpos K 1|lpush K 1|lrange K 0 0|lrem K 0 1|lset K 0 1|ltrim K 0 0|rpop K|rpoplpush K K|rpush K 1
  sadd K 1|scard K|sismember K 1|smembers K|smismember K 1|srem K 1
  bzpopmin K 1|zadd K 1 m|zcard K|zcount K 0 1|zlexcount K - +|zpopmin K|zrange K 0 0|zrangebylex K - +|zrangebyscore K 0 1|zrem K m
  zremrangebyrank K 0 0|zremrangebyscore K 0 1|zrevrange K 0 0|zrevrangebyscore K 1 0|zscore K m
  xadd K * f 1|xdel K 0-1|xlen K|xrange K - +|xread STREAMS K 0|xtrim K MAXLEN 0`
  .trim()
  .split(/\s*[|\n]\s*/);

/**
 * Checks that the Redis user may run all required commands on keys of clinic-mirror and BullMQ. Each command is queued in a transaction
 * that never runs: Redis refuses forbidden commands when they are queued
 * (https://redis.io/docs/latest/develop/using-commands/transactions/).
 * @throws MirrorError `settings`, code `redis-rights`, with the refused commands; an ioredis error without an answer
 */
export async function requireRights(client: RedisClient): Promise<void> {
  for (const server of client instanceof Cluster ? await serversOf(client) : [client]) {
    const { commands, keys } = await refusedBy(server);
    if (keys.length > 0) throw rightsMissing(message('redis-rights.keys', { names: keys.join(', ') }));
    if (commands.length === 0) continue;
    const more = commands.length - NAMED;
    const names = commands.slice(0, NAMED).join(', ');
    throw rightsMissing(
      more > 0 ? message('redis-rights.more', { names, count: more }) : message('redis-rights.commands', { names }),
    );
  }
}

/** Returns why Redis refuses the credentials; null if accepted or unknown: for a cluster or an unavailable server. */
async function refusedLogin(client: RedisClient): Promise<MirrorError | null> {
  if (client instanceof Cluster) return null;
  const asked = openSeparate(client);
  let said = '';
  asked.on('error', ({ message }: Error) => {
    said ||= message;
  });
  try {
    await asked.ping();
    return null;
  } catch (error) {
    if (error instanceof Error) said = `${said} ${error.message}`;
    if (!/NOAUTH|WRONGPASS|invalid username-password|without any password configured/.test(said)) return null;
    const isMissing = (client.options.password ?? '') === '';
    return new MirrorError(isMissing ? message('redis-password-missing') : message('redis-login-refused'), {
      actor: 'settings',
      code: 'redis-login-refused',
      retry: 'never',
      remedy: message('redis-login-refused.remedy'),
    });
  } finally {
    asked.disconnect();
  }
}

/** Opens a separate connection to the server, without retries. */
function openSeparate(server: Redis): Redis {
  const times = { connectTimeout: ANSWER_MS, commandTimeout: ANSWER_MS };
  return server.duplicate({ ...times, enableReadyCheck: false, maxRetriesPerRequest: 0, retryStrategy: () => null });
}

async function refusedBy(server: Redis): Promise<{ commands: string[]; keys: string[] }> {
  const asked = openSeparate(server);
  asked.on('error', () => {});
  const commands = new Set<string>();
  const refusedKeys = new Set<string>();
  const ask = (words: readonly string[], testKey: string) =>
    asked.call(words[0] ?? '', ...words.slice(1)).catch(({ message }: Error) => {
      if (!message.startsWith('NOPERM')) return;
      if (/\bkeys?\b/.test(message)) refusedKeys.add(testKey);
      else commands.add(words[0] ?? '');
    });
  try {
    for (const word of ['multi', 'exec', 'multi']) await ask([word], '');
    // Further commands would be executed.
    if (commands.has('multi')) return { commands: [...commands], keys: [] };
    for (const command of COMMANDS) {
      for (const testKey of TEST_KEYS)
        await ask(
          command.split(' ').map((word) => (word === 'K' ? testKey : word)),
          testKey,
        );
    }
    return { commands: [...commands], keys: [...refusedKeys] };
  } finally {
    // Ends the transaction without executing any command.
    asked.disconnect();
  }
}

function rightsMissing(what: Text): MirrorError {
  return new MirrorError(message('redis-rights', { what }), {
    actor: 'settings',
    code: 'redis-rights',
    retry: 'never',
    remedy: message('redis-rights.remedy'),
  });
}
