import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../log/logger.ts';
import { type Message, message } from '../messages/message.ts';
import { exponentialBackoffMs } from '../model/backoff.ts';
import { SECOND_MS } from '../model/time.ts';
import type { ClusterLocation, RedisLocation, SentinelLocation } from '../settings/redis-schema.ts';
import { keys } from './keys.ts';

/** A connection to Redis; to a cluster it is one to each of its servers. */
export type RedisClient = Redis | Cluster;

/**
 * A connection on which something was asked and nothing came for this long is dropped and made again: its other end may be gone
 * without a word. Longer than the longest time that we ask Redis itself to wait (WAITAOF, 5 s).
 */
const SILENCE_MS = 7 * SECOND_MS;
/** No command waits longer than this, be it for an answer or for Redis to come back. */
const COMMAND_TIMEOUT_MS = 10 * SECOND_MS;
/** Numbers that are tried: a cluster has at most a thousand servers, each with its share of 16,384 slots. */
const MOST_SHARDS = 100_000;
/** Pause between two questions whether Redis is there. */
const PING_EVERY_MS = 2 * SECOND_MS;

/** Opens a connection that keeps trying. A command waits for its answer, or for Redis to come back, at most ten seconds. */
export function connectRedis(location: RedisLocation): RedisClient {
  return open(location, { maxRetriesPerRequest: 20, ...LIMITS });
}

/**
 * Opens a connection for BullMQ's workers. Its own commands have the time limits of every connection; the copies that BullMQ makes of
 * it wait for jobs without one, and are watched by BullMQ itself.
 */
export function connectForWorkers(location: RedisLocation): RedisClient {
  const client = open(location, { maxRetriesPerRequest: null, ...LIMITS });
  return Object.assign(client, { duplicate: () => open(location, { maxRetriesPerRequest: null }) });
}

const LIMITS = { commandTimeout: COMMAND_TIMEOUT_MS, socketTimeout: SILENCE_MS } as const;

interface Limits {
  maxRetriesPerRequest: number | null;
  commandTimeout?: number;
  socketTimeout?: number;
}

function open(location: RedisLocation, limits: Limits): RedisClient {
  const client = clientOf(location, { enableReadyCheck: true, keepAlive: 10 * SECOND_MS, ...limits });
  // Without a listener ioredis prints every failed attempt; readiness reports the state instead.
  client.on('error', () => {});
  return sendingScriptsOnce(client);
}

/**
 * A script goes over a connection as a text the first time and as its digest from then on, in the same order as all else: ioredis does so for
 * those that it knows by a name. A cycle sends some thirty, of up to five kilobytes.
 */
function sendingScriptsOnce(client: RedisClient): RedisClient {
  const names = new Map<string, string>();
  return Object.assign(client, {
    eval(script: string, ...parameters: unknown[]): Promise<unknown> {
      const name = names.get(script) ?? `script ${names.size}`;
      if (!names.has(script)) client.defineCommand(name, { lua: script });
      names.set(script, name);
      const scripts = client as unknown as Record<string, (...args: unknown[]) => Promise<unknown>>;
      return (scripts[name] as (...args: unknown[]) => Promise<unknown>).apply(client, parameters);
    },
  });
}

type ConnectionOptions = Omit<RedisOptions, 'replyMapping'>;

function clientOf(location: RedisLocation, options: ConnectionOptions): RedisClient {
  if (typeof location === 'string') return new Redis(location, { ...options, retryStrategy });
  return 'cluster' in location ? openCluster(location, options) : openSentinels(location, options);
}

/** @param attempt from 1 */
function retryStrategy(attempt: number): number {
  return exponentialBackoffMs({ firstMs: 100, longestMs: 2 * SECOND_MS }, attempt - 1);
}

function openSentinels(location: SentinelLocation, options: ConnectionOptions): Redis {
  const { sentinels, name, username, password, sentinelUsername, sentinelPassword, tls } = location;
  return new Redis({
    ...options,
    sentinels: sentinels.map((address) => ({ ...address })),
    name,
    username,
    password,
    sentinelUsername,
    sentinelPassword,
    ...(tls ? { tls: {}, enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
    retryStrategy,
    sentinelRetryStrategy: retryStrategy,
    // A master that is cut off would be written to until somebody ends the connection; the sentinels tell at once.
    failoverDetector: true,
    // One that became a replica has refused the command, so it may be sent again to the new master.
    reconnectOnError: ({ message }) => (message.startsWith('READONLY') ? 2 : false),
  });
}

function openCluster({ cluster, username, password, tls }: ClusterLocation, options: ConnectionOptions): Cluster {
  return new TimedCluster(
    cluster.map((address) => ({ ...address })),
    {
      redisOptions: { ...options, username, password, ...(tls ? { tls: {} } : {}) },
      // Certificates hold names, which a look-up would replace by addresses.
      ...(tls ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
      clusterRetryStrategy: retryStrategy,
      // Else a command gives up after as many tries, long before a replica has taken over.
      maxRedirections: Number.POSITIVE_INFINITY,
    },
  );
}

/** Counts a command's time from when it is given, not from when a server could be asked. */
class TimedCluster extends Cluster {
  override sendCommand(...parameters: Parameters<Cluster['sendCommand']>): unknown {
    const { commandTimeout } = this.options.redisOptions ?? {};
    if (commandTimeout !== undefined) parameters[0].setTimeout(commandTimeout);
    return super.sendCommand(...parameters);
  }
}

/** The server that answers for a key. @throws Error, as of a closed connection, while none is known */
function serverOf(client: RedisClient, key: string): Redis {
  if (!(client instanceof Cluster)) return client;
  const name = client.slots[slotOf(key)]?.[0];
  const server = client.nodes('master').find(({ options }) => `${options.host}:${options.port}` === name);
  if (server === undefined) throw new Error('Connection is closed.');
  return server;
}

/**
 * Every server that holds a part of the state: one, or a cluster's masters.
 * @throws Error when a part has no master within the time of a command
 */
export async function serversOf(client: RedisClient): Promise<Redis[]> {
  const shards = await shardsOf(client);
  // The answer comes when a replica has taken over from a master that is gone, and only asking lets the client learn of it.
  await Promise.all(shards.map((shard) => client.exists(keys.epoch(shard))));
  return shards.map((shard) => serverOf(client, keys.epoch(shard)));
}

/**
 * Numbers of the parts of the state that are lost or kept together: 0 alone, or one for each master of a cluster. `keys.epoch` of a
 * number lies on its master. It is the lowest that does, so it is the same after a replica took over.
 * @param keyNames only the parts in which these keys lie; null for all
 */
export async function shardsOf(client: RedisClient, keyNames: readonly string[] | null = null): Promise<number[]> {
  if (!(client instanceof Cluster)) return [0];
  // An answer comes when the servers are known.
  if (client.slots.length === 0) await client.exists(keys.epoch(0));
  const masterOf = (name: string) => client.slots[slotOf(name)]?.[0] ?? '';
  const masters = new Set(
    keyNames === null ? client.slots.flatMap((servers) => servers?.[0] ?? []) : keyNames.map(masterOf),
  );
  const shards: number[] = [];
  for (let shard = 0; masters.size > 0 && shard < MOST_SHARDS; shard += 1) {
    if (masters.delete(masterOf(keys.epoch(shard)))) shards.push(shard);
  }
  return shards;
}

function slotOf(key: string): number {
  return new Command('exists', [key]).getSlot() ?? 0;
}

/** Whether Redis answers. */
export interface RedisWatch {
  /** Why Redis can't be relied on now; null while it answers. */
  failure(): Message | null;
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
    await Promise.all((await shardsOf(client)).map((shard) => client.exists(keys.epoch(shard))));
    if (silentSinceAt !== null) {
      log.info({ silentForMs: Math.round(performance.now() - silentSinceAt) }, 'Redis answers again');
    }
    silentSinceAt = null;
    answeredAt = performance.now();
  }
  async function pingRepeatedly(): Promise<void> {
    while (!stopped.signal.aborted) {
      await ping().catch(() => {});
      await pauseFor(everyMs, stopped.signal).catch(() => {});
    }
  }
  void pingRepeatedly();
  return {
    failure() {
      if (client.status !== 'ready') return message('redis.connection', { status: client.status });
      if (silentForMs() > silenceMs)
        return message('redis.no-answer', { seconds: Math.floor(silentForMs() / SECOND_MS) });
      return null;
    },
    stop() {
      stopped.abort();
      clearInterval(look);
    },
  };
}

/** Waits. @throws the signal's reason as soon as it is aborted */
export function pauseFor(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, durationMs);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

/** With `appendfsync everysec` the disk takes at most about two seconds. */
const PATIENCE_MS = 5 * SECOND_MS;

/**
 * How safe a write is:
 * - `durable`: on the disk of this Redis, and known to as many replicas as were asked for;
 * - `unsupported`: this Redis can't tell (older than 7.2, or a managed one that refuses WAITAOF); its replicas have it;
 * - `late`: the disk or a replica did not confirm it in time. It may be lost yet.
 */
export type Durability = 'durable' | 'unsupported' | 'late';

/**
 * Waits until a key that was written over a connection, and everything that its server took before, can't be lost any more. A server
 * that takes over meanwhile answers for what it has, not for what was written to the one before.
 */
export type AwaitDurable = (key: string) => Promise<Durability>;

/**
 * @param writer the connection that wrote; whatever else is sent over it waits meanwhile, so it should have nothing else to do
 * @param options.replicas how many replicas must have it; null: one, if any is connected at that moment
 * @returns a function that throws what Redis throws when it does not answer
 */
export function createAwaitDurable(
  writer: RedisClient,
  { replicas, patienceMs = PATIENCE_MS }: { replicas: number | null; patienceMs?: number },
): AwaitDurable {
  let supportsDiskWait = true;
  return async (key) => {
    const server = serverOf(writer, key);
    const wanted = replicas ?? (await oneIfConnected(server));
    const reached = wanted === 0 ? 0 : Number(await server.call('WAIT', wanted, patienceMs));
    if (reached < wanted) return 'late';
    if (!supportsDiskWait) return 'unsupported';
    try {
      const [onDisk] = (await server.call('WAITAOF', 1, 0, patienceMs)) as [number, number];
      return onDisk === 1 ? 'durable' : 'late';
    } catch (error) {
      if (!isRefused(error)) throw error;
      supportsDiskWait = false;
      return 'unsupported';
    }
  };
}

/** The command is unknown, forbidden, or this Redis keeps no append-only file; the start says so. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && /unknown command|cannot be used|no permission/i.test(error.message);
}

async function oneIfConnected(redis: Redis): Promise<number> {
  const info = await redis.info('replication');
  return /^slave\d+:.*\bstate=online\b/m.test(info) ? 1 : 0;
}
