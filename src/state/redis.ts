import type { Writable } from 'node:stream';
import { Cluster, Command, Redis, type RedisOptions } from 'ioredis';
import type { Logger } from '../core/log/logger.ts';
import { exponentialBackoffMs } from '../core/model/backoff.ts';
import { type MirrorError, redisFaultOf, redisUnreachable } from '../core/model/errors.ts';
import { DAY_MS, SECOND_MS } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import type { ClusterLocation, RedisLocation, SentinelLocation } from '../settings/redis-schema.ts';
import { keys } from './keys.ts';

/** Connection to Redis; for a cluster, connections to each of its servers. */
export type RedisClient = Redis | Cluster;

/**
 * Time without an answer after which a connection is replaced: the remote end may have disappeared silently. Longer than the longest wait
 * inside Redis (WAITAOF, 5 s).
 */
const SILENCE_MS = 7 * SECOND_MS;
/** Longest wait of a command, for an answer or for the return of Redis. */
const COMMAND_TIMEOUT_MS = 10 * SECOND_MS;
/** Largest tried number: a cluster has at most a thousand servers, each with a share of 16,384 slots. */
const MOST_SHARDS = 100_000;
/** Interval of availability checks. */
const PING_EVERY_MS = 2 * SECOND_MS;

/** Opens a connection with endless reconnects. A command waits at most ten seconds for its answer or for the return of Redis. */
export function connectRedis(location: RedisLocation): RedisClient {
  return open(location, { maxRetriesPerRequest: 20, ...LIMITS });
}

/**
 * Opens a connection for BullMQ's workers. Its commands have the usual time limits. BullMQ's duplicates of the connection wait for jobs
 * without a limit, and BullMQ monitors them.
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
  const reconnectOnError = reconnectAfterDemotion(1);
  const client = clientOf(location, { enableReadyCheck: true, reconnectOnError, keepAlive: 10 * SECOND_MS, ...limits });
  // Without a listener, ioredis prints every failed attempt; readiness reports the state.
  client.on('error', () => {});
  if (client instanceof Redis) {
    sendingTogether(client);
    refusingAsServer(client);
  }
  return sendingScriptsOnce(client);
}

/**
 * Sends all commands of one iteration of the event loop with one call of the system. Each command alone costs about 50 µs, half as much as
 * its answer; a cycle of ten targets sends a hundred, and `status` thousands at the same time.
 */
function sendingTogether(client: Redis): void {
  const corked = new WeakSet<Writable>();
  client.sendCommand = (command, ...rest) => {
    const { stream } = client as unknown as { stream?: Writable };
    if (stream !== undefined && stream !== null && !corked.has(stream)) {
      corked.add(stream);
      stream.cork();
      process.nextTick(() => {
        corked.delete(stream);
        stream.uncork();
      });
    }
    return Redis.prototype.sendCommand.call(client, command, ...rest);
  };
}

/** Commands with which ioredis opens a connection. They write nothing. */
const OF_CONNECTING: ReadonlySet<string> = new Set(['auth', 'client', 'hello', 'info', 'select']);

/** Faults with which a server refuses a connection. */
const OF_REFUSED_CONNECTION: ReadonlySet<string> = new Set(['redis-database-missing', 'redis-login-refused']);

/**
 * Refuses all commands while the server lacks the configured database or refuses the login. ioredis would send them to database 0, which
 * may belong to another program, and would name a refused login only in some of its attempts.
 */
function refusingAsServer(client: Redis): void {
  let fault: MirrorError | null = null;
  const send = client.sendCommand.bind(client);
  client.sendCommand = (command, ...rest) => {
    if (fault === null || OF_CONNECTING.has(command.name)) return send(command, ...rest);
    command.reject(fault);
    return command.promise;
  };
  client.on('ready', () => {
    fault = null;
  });
  client.on('error', (error: Error) => {
    const found = redisFaultOf(error);
    // After a network error, the previous refusal is no longer the cause.
    fault = found !== null && OF_REFUSED_CONNECTION.has(found.code) ? found : null;
    if (fault === null) return;
    // Otherwise queued commands would be sent when the connection is ready.
    (client as unknown as { flushQueue(error: Error): void }).flushQueue(fault);
    client.disconnect(true);
  });
}

/**
 * Sends a script over a connection as text once, later as a digest, in order with the other commands: ioredis does so for named scripts. A
 * cycle sends about thirty scripts, of up to five kilobytes.
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

/** Least time between two reconnects to a server that remains a replica. */
const DEMOTED_EVERY_MS = 2 * SECOND_MS;

/**
 * Decides whether to reconnect: a demoted master keeps its connections open, and behind its address there may be a new master.
 * @param answer of ioredis' `reconnectOnError`: 1 reconnects, 2 also sends the refused command again
 */
function reconnectAfterDemotion(answer: 1 | 2): (error: Error) => 1 | 2 | false {
  let lastAt = Number.NEGATIVE_INFINITY;
  return (error) => {
    const isSoon = performance.now() - lastAt < DEMOTED_EVERY_MS;
    if ((answer === 1 && isSoon) || redisFaultOf(error)?.code !== 'redis-read-only') return false;
    lastAt = performance.now();
    return answer;
  };
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
    // Without the detector, writes continue to an isolated master until the connection closes; sentinels report the failover immediately.
    failoverDetector: true,
    // A demoted master refused the command, so the command may be sent again to the new master.
    reconnectOnError: reconnectAfterDemotion(2),
  });
}

function openCluster({ cluster, username, password, tls }: ClusterLocation, options: ConnectionOptions): Cluster {
  return new TimedCluster(
    cluster.map((address) => ({ ...address })),
    {
      redisOptions: { ...options, username, password, ...(tls ? { tls: {} } : {}) },
      // Certificates contain names, which a lookup would replace by IPs.
      ...(tls ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
      clusterRetryStrategy: retryStrategy,
      // Otherwise a command fails after this number of attempts, long before a failover completes.
      maxRedirections: Number.POSITIVE_INFINITY,
    },
  );
}

/** Starts a command's time limit when the command is issued, not when a server is available. */
class TimedCluster extends Cluster {
  override sendCommand(...parameters: Parameters<Cluster['sendCommand']>): unknown {
    const { commandTimeout } = this.options.redisOptions ?? {};
    if (commandTimeout !== undefined) parameters[0].setTimeout(commandTimeout);
    return super.sendCommand(...parameters);
  }
}

/** Returns the server of a key. @throws Error, as for a closed connection, if no server is known */
function serverOf(client: RedisClient, key: string): Redis {
  if (!(client instanceof Cluster)) return client;
  const name = client.slots[slotOf(key)]?.[0];
  const server = client.nodes('master').find(({ options }) => `${options.host}:${options.port}` === name);
  if (server === undefined) throw new Error('Connection is closed.');
  return server;
}

/**
 * Returns every server with a part of the state: one, or a cluster's masters.
 * @throws Error if a part has no master within the time limit of a command
 */
export async function serversOf(client: RedisClient): Promise<Redis[]> {
  const shards = await shardsOf(client);
  // The answer arrives after the failover of a lost master; only a request updates the client.
  await Promise.all(shards.map((shard) => client.exists(keys.epoch(shard))));
  return shards.map((shard) => serverOf(client, keys.epoch(shard)));
}

/**
 * Returns the numbers of the parts of the state that are lost or kept together: only 0, or one number for each master of a cluster.
 * `keys.epoch` of a number is on its master. The lowest number is used, so that the number is unchanged after a failover.
 * @param keyNames only the parts of these keys; null for all parts
 */
export async function shardsOf(client: RedisClient, keyNames: readonly string[] | null = null): Promise<number[]> {
  if (!(client instanceof Cluster)) return [0];
  // The answer arrives when the servers are known.
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

/** Why Redis is unavailable. */
interface RedisFailure {
  why: Text;
  error: MirrorError;
}

/** Life of the keys that prove writes. */
const PROBE_LIFE_MS = 10 * SECOND_MS;
/** Life of the key that shows other processes when a daemon last ran. */
export const DAEMON_SEEN_LIFE_MS = DAY_MS;

/**
 * Proves that each server of the state accepts writes.
 * @throws errors of Redis: only a write shows that a Redis is full, read-only or without replicas
 */
export async function proveWrites(client: RedisClient): Promise<void> {
  const shards = await shardsOf(client);
  await Promise.all(shards.map((shard) => client.set(keys.probe(shard), '1', 'PX', PROBE_LIFE_MS)));
}

/** Availability of Redis. */
export interface RedisWatch {
  /** Returns why Redis is unavailable or refuses commands, or null. */
  failure(): RedisFailure | null;
  stop(): void;
}

/**
 * Checks every two seconds whether Redis answers and accepts writes, and logs each outage and each recovery once.
 * @param options.silenceMs time without an answer after which Redis is considered unavailable
 */
export function watchRedis(
  client: RedisClient,
  log: Logger,
  { everyMs = PING_EVERY_MS, silenceMs = SILENCE_MS } = {},
): RedisWatch {
  const stopped = new AbortController();
  let answeredAt = performance.now();
  let silentSinceAt: number | null = null;
  let refusal: MirrorError | null = null;
  let refusedSinceAt = 0;
  const silentForMs = () => performance.now() - answeredAt;
  const look = setInterval(() => {
    if (silentSinceAt !== null || silentForMs() <= silenceMs) return;
    silentSinceAt = answeredAt;
    log.error({ silentForMs: Math.round(silentForMs()) }, 'Redis does not answer: no new work starts');
  }, everyMs / 2).unref();
  async function ping(): Promise<void> {
    const refused = await refusalOf(() =>
      Promise.all([proveWrites(client), client.set(keys.daemonSeen(), '1', 'PX', DAEMON_SEEN_LIFE_MS)]),
    );
    if (refused !== null && refused.code !== refusal?.code) {
      const { code, remedy } = refused;
      log.error({ code, remedy }, 'Redis refuses commands: no new work starts');
    }
    if (refused !== null && refusal === null) refusedSinceAt = performance.now();
    if (refused === null && refusal !== null) {
      const refusedForMs = Math.round(performance.now() - refusedSinceAt);
      log.info({ code: refusal.code, refusedForMs }, 'Redis accepts commands again');
    }
    refusal = refused;
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
      const silent = (why: Text) => ({ why, error: redisUnreachable(null) });
      if (silentForMs() > silenceMs)
        return silent(message('redis.no-answer', { seconds: Math.floor(silentForMs() / SECOND_MS) }));
      if (refusal !== null) return { why: refusal.texts.message, error: refusal };
      return client.status === 'ready' ? null : silent(message('redis.connection', { status: client.status }));
    },
    stop() {
      stopped.abort();
      clearInterval(look);
    },
  };
}

/** Returns the refusal of an answering Redis; null without one. @throws other errors, also of a silent Redis */
export async function refusalOf(ask: () => Promise<unknown>): Promise<MirrorError | null> {
  try {
    await ask();
    return null;
  } catch (error) {
    const fault = redisFaultOf(error);
    if (fault === null || fault.code === 'redis-unreachable') throw error;
    return fault;
  }
}

/** Waits. @throws the signal's reason on abort */
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

/** With `appendfsync everysec`, the disk takes at most about two seconds. */
const PATIENCE_MS = 5 * SECOND_MS;

/**
 * Durability of a write:
 * - `durable`: on the disk of this Redis, and acknowledged by the required number of replicas;
 * - `unsupported`: this Redis cannot confirm (older than 7.2, or a managed Redis that refuses WAITAOF); its replicas have the write;
 * - `late`: disk or replica did not confirm in time. The write may still be lost.
 */
export type Durability = 'durable' | 'unsupported' | 'late';

/**
 * Waits until a written key, and all earlier writes on its server, are durable. After a failover, the new server only confirms its own
 * data, not writes to the previous server.
 */
export type AwaitDurable = (key: string) => Promise<Durability>;

/**
 * @param writer connection of the write; other commands on the connection wait, so the connection should have no other use
 * @param options.replicas required number of replicas; null: one, if any is connected at the moment
 * @returns a function that throws errors of Redis without an answer
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

/** The command is unknown or forbidden, or this Redis has no append-only file; the startup check reports the cause. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && /unknown command|cannot be used|no permission/i.test(error.message);
}

async function oneIfConnected(redis: Redis): Promise<number> {
  const info = await redis.info('replication');
  return /^slave\d+:.*\bstate=online\b/m.test(info) ? 1 : 0;
}
