import { createHmac } from 'node:crypto';
import type { Logger } from '../core/log/logger.ts';
import { MirrorError, STATE_WENT_BACK } from '../core/model/errors.ts';
import { base32hex } from '../core/model/hashes.ts';
import type { StateCounterView } from '../core/model/state-schemas.ts';
import { type Clock, type Instant, SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { openNumber } from './damaged.ts';
import { type CounterName, type DataDirectory, openDataDirectory } from './data-directory.ts';
import { keys } from './keys.ts';
import { type AwaitDurable, createAwaitDurable, type Durability, type RedisClient, shardsOf } from './redis.ts';
import { redisScript } from './script.ts';

const advanceCounter = redisScript<(string | number)[]>(import.meta.url, 'state-counter-advance');

/**
 * Counter in Redis with its highest known value outside Redis. Each decision before an irreversible external effect raises the counter. A
 * Redis with a lower counter has lost decisions: by failover to a replica, a restored backup, or data loss. On a cluster, each master has
 * counters for its tenants.
 */
export interface StateCounter extends TenantStateCounter {
  /** Fingerprint of the installation's identity key, without other information: 16 characters of `[0-9a-v]`. */
  identity: string;
  /**
   * Returns the counter for the location of a tenant's decisions and writes, under each of its ids; the methods here cover all locations.
   */
  of(...tenantIds: readonly string[]): TenantStateCounter;
  /** @throws MirrorError `settings`, code `identity-key-changed`, if Redis or the directory belongs to a different identity key */
  requireIdentity(): Promise<void>;
  view(): Promise<StateCounterView>;
}

/** Progress of the state with a tenant's decisions and writes. */
export interface TenantStateCounter {
  /**
   * Makes the latest decisions durable before an external effect: on the disk of Redis, on a replica if available, and as a mark outside.
   * Concurrent callers share the wait.
   * @returns when the state last went back, 0 if never: effects due before that time may already have happened
   * @throws MirrorError `remote`, code `state-not-durable`, without confirmation in time; errors of Redis
   */
  confirm(): Promise<Instant | 0>;
  /** Checks whether the state went back. @returns as `confirm` */
  check(): Promise<Instant | 0>;
  /** Records a write to a target before the write is sent, without waiting for the disk of Redis. */
  recordWriting(): Promise<void>;
  /** Returns when the state was last found to have lost decisions or writes; 0 if never. Targets must be fetched again after this time. */
  lostAt(): Promise<Instant | 0>;
  /** @returns undefined without a usable directory: a failure is reported once, and work continues without the directory */
  withDirectory<Result>(work: (directory: DataDirectory) => Promise<Result>): Promise<Result | undefined>;
  /**
   * Runs work that must not continue without a configured directory.
   * @throws MirrorError `settings`, code `data-directory-unusable`
   */
  requireDirectory(work: (directory: DataDirectory) => Promise<void>): Promise<void>;
  /** Assigns Redis and the directory to this identity key, which proved to be the key of existing objects. */
  storeIdentity(): Promise<void>;
}

export interface StateCounterParts {
  redis: RedisClient;
  /** Separate connection: waiting for the disk blocks other commands. */
  writer: RedisClient;
  /** Required replicas for a decision; null: one, if any is connected. */
  replicas: number | null;
  /** Directory outside Redis; null for none. */
  directory: string | null;
  identityKey: Uint8Array;
  clock: Clock;
  log: Logger;
}

/** Of several parts of the state, the least durable part decides. */
const LEAST_FIRST: readonly Durability[] = ['late', 'unsupported', 'durable'];
/** Age at which a counter in Redis is on disk: `appendfsync everysec`. */
const SURELY_DURABLE_MS = 10 * SECOND_MS;

/** Returns the fingerprint of an identity key, without other information: 16 characters of `[0-9a-v]`. */
export function identityFingerprint(identityKey: Uint8Array): string {
  return base32hex(
    createHmac('sha256', identityKey).update('clinic-mirror identity fingerprint').digest().subarray(0, 10),
  );
}

/** Opens the counter of an installation. */
export function createStateCounter(parts: StateCounterParts): StateCounter {
  const { redis } = parts;
  const directory = openOnce(parts.directory, parts.log);
  const fingerprint = identityFingerprint(parts.identityKey);
  const opened = new Map<number, ShardStateCounter>();
  const awaitDurable = createAwaitDurable(parts.writer, { replicas: parts.replicas });
  const shardAt = (shard: number) => {
    const one = opened.get(shard) ?? openShard(shard, { ...parts, directory, awaitDurable });
    opened.set(shard, one);
    return one;
  };
  const shardsWith = async (existing: readonly string[] | null) => (await shardsOf(redis, existing)).map(shardAt);

  /** @param existing keys in the relevant parts; null for all parts */
  function lookingAfter(existing: readonly string[] | null): TenantStateCounter {
    const latestOf = async (ask: (shard: ShardStateCounter) => Promise<Instant | 0>) =>
      Math.max(0, ...(await Promise.all((await shardsWith(existing)).map(ask))));
    return {
      confirm: () => latestOf((shard) => shard.makeDurable()),
      check: () => latestOf((shard) => shard.lossOf('decisions')),
      async recordWriting() {
        await Promise.all((await shardsWith(existing)).map((shard) => shard.recordWriting()));
      },
      lostAt: () => latestOf(async (shard) => Math.max(await shard.lossOf('decisions'), await shard.lossOf('writes'))),
      withDirectory: directory.use,
      requireDirectory: directory.require,
      async storeIdentity() {
        await redis.hsetnx(keys.epoch(0), 'identity', fingerprint);
        await directory.use(async (dataDirectory) => {
          if ((await dataDirectory.readIdentity()) === null) await dataDirectory.storeIdentity(fingerprint);
        });
      },
    };
  }

  return {
    ...lookingAfter(null),
    identity: fingerprint,
    of: (...tenantIds) => lookingAfter(tenantIds.map(keys.protection)),
    async requireIdentity() {
      const existing = [
        await redis.hget(keys.epoch(0), 'identity'),
        await directory.use((dataDirectory) => dataDirectory.readIdentity()),
      ];
      if (existing.some((one) => one != null && one !== fingerprint)) throw identityKeyChanged();
    },
    async view() {
      const views = await Promise.all((await shardsWith(null)).map((shard) => shard.view()));
      const [last] = views.toSorted((one, other) => other.wentBackAt - one.wentBackAt);
      await directory.prove();
      return {
        durability: LEAST_FIRST.find((one) => views.some(({ durability }) => durability === one)) ?? null,
        directory: directory.state(),
        directoryFailure: directory.failure(),
        wentBackAt: last?.wentBackAt || null,
        wentBackTo: last?.wentBackTo || null,
        writesLostAt: Math.max(0, ...views.map(({ writesLostAt }) => writesLostAt)) || null,
      };
    },
  };
}

type ShardParts = Pick<StateCounterParts, 'redis' | 'writer' | 'clock' | 'log'> & {
  directory: ReturnType<typeof openOnce>;
  awaitDurable: AwaitDurable;
};

type ShardStateCounter = ReturnType<typeof openShard>;

/** Counters with marks that this module manages. */
type CounterKind = Exclude<CounterName, 'managed'>;

const instantIn = (stored: string | null | undefined) =>
  openNumber(stored, { owner: '{state}', kind: 'state-counter' }) ?? 0;

/** Opens the counters of one part of the state. */
function openShard(shard: number, { redis, writer, clock, log, directory, awaitDurable }: ShardParts) {
  const keyOf = { decisions: keys.epoch(shard), writes: keys.writes(shard) };
  const highest: Record<CounterKind, number> = { decisions: 0, writes: 0 };
  let durability: Durability | null = null;
  /** A clock that was set back must not date a loss before the lost decisions. */
  let latestAt: Instant = 0;

  async function advance(client: RedisClient, by: 0 | 1, name: CounterKind) {
    const marked = (await directory.use((dataDirectory) => dataDirectory.readMark({ name, shard }))) ?? {
      counter: 0,
      at: 0,
    };
    const now = clock();
    latestAt = Math.max(latestAt, now, marked.at);
    const existing = Math.max(highest[name], marked.counter);
    const answer = await advanceCounter(client, [keyOf[name]], [existing, now, by, latestAt]);
    const [counter = 0, at = 0, wentBackAt = 0, wentBackTo = 0, isLost = 0] = answer.map(Number);
    if (isLost === 1) {
      log.error({ code: STATE_WENT_BACK, wentBackTo: wentBackTo || null }, `Redis has an older state: it lost ${name}`);
    }
    return { counter, at, now, wentBackAt };
  }

  async function storeMark(name: CounterKind, counter: number, now: Instant): Promise<void> {
    await directory.use((dataDirectory) => dataDirectory.leaveMark({ name, shard }, counter, now));
    highest[name] = Math.max(highest[name], counter);
  }

  async function lossOf(name: CounterKind): Promise<Instant | 0> {
    const { counter, at, now, wentBackAt } = await advance(redis, 0, name);
    if (now - at > SURELY_DURABLE_MS) highest[name] = Math.max(highest[name], counter);
    return wentBackAt;
  }

  async function makeDurable(): Promise<Instant | 0> {
    const { counter, now } = await advance(writer, 1, 'decisions');
    const before = durability;
    durability = await awaitDurable(keyOf.decisions);
    // For status in other processes.
    if (durability !== before) await redis.hset(keyOf.decisions, 'durability', durability);
    if (durability === 'late') throw notDurable();
    await storeMark('decisions', counter, now);
    // After a failover, the answer comes from the new server.
    return lossOf('decisions');
  }

  return {
    makeDurable: shared(makeDurable),
    recordWriting: shared(async () => {
      const { counter, now } = await advance(redis, 1, 'writes');
      await storeMark('writes', counter, now);
    }),
    lossOf,
    async view() {
      const fields = await redis.hmget(keyOf.decisions, 'durability', 'wentBackAt', 'wentBackTo');
      const writesLostAt = instantIn(await redis.hget(keyOf.writes, 'wentBackAt'));
      const [durability = null, wentBackAt, wentBackTo] = fields;
      return {
        durability: durability as Durability | null,
        wentBackAt: instantIn(wentBackAt),
        wentBackTo: instantIn(wentBackTo),
        writesLostAt,
      };
    },
  };
}

/** Callers during a run share the next run: their decisions may follow the start of the current run. */
function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<unknown> | null = null;
  let next: Promise<Result> | null = null;
  return () => {
    next ??= (async () => {
      await running?.catch(() => {});
      const mine = work();
      running = mine;
      next = null;
      return mine;
    })();
    return next;
  };
}

/** An unusable directory is reported once, and tried again each time: the daemon continues without the directory. */
function openOnce(path: string | null, log: Logger) {
  let opened: DataDirectory | null = null;
  let failed: string | null = null;
  let failedAt: number | null = null;
  const fail = (error: unknown) => {
    if (failedAt === null) log.error({ code: 'data-directory-unusable', error }, 'data directory is not writable');
    failedAt ??= performance.now();
    failed = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return null;
  };
  const get = async () => {
    if (path === null) return null;
    try {
      opened ??= await openDataDirectory(path);
      return opened;
    } catch (error) {
      return fail(error);
    }
  };
  async function use<Result>(work: (dataDirectory: DataDirectory) => Promise<Result>): Promise<Result | undefined> {
    const dataDirectory = await get();
    if (dataDirectory === null) return undefined;
    try {
      const result = await work(dataDirectory);
      failed = null;
      return result;
    } catch (error) {
      fail(error);
      return undefined;
    }
  }
  return {
    get,
    use,
    async require(work: (dataDirectory: DataDirectory) => Promise<void>): Promise<void> {
      const isDone = await use(async (dataDirectory) => {
        await work(dataDirectory);
        return true;
      });
      if (path !== null && isDone !== true) throw directoryUnusable(path);
    },
    /** Reads also succeed on a full disk, so only a write proves the directory, and ends the report of a failure. */
    async prove(): Promise<void> {
      const isProved = await use((dataDirectory) => dataDirectory.prove().then(() => true));
      if (isProved !== true || failedAt === null) return;
      log.info({ failedForMs: Math.round(performance.now() - failedAt) }, 'data directory is writable again');
      failedAt = null;
    },
    state: (): StateCounterView['directory'] => (path === null ? 'none' : failed === null ? 'kept' : 'failed'),
    failure: () => failed,
  };
}

function directoryUnusable(path: string): MirrorError {
  return new MirrorError(message('data-directory-unusable', { path }), {
    actor: 'settings',
    code: 'data-directory-unusable',
    retry: 'never',
    remedy: message('data-directory-unusable.remedy'),
  });
}

function notDurable(): MirrorError {
  return new MirrorError(message('state-not-durable'), {
    actor: 'remote',
    code: 'state-not-durable',
    retry: 'later',
    remedy: message('state-not-durable.remedy'),
  });
}

/** Returns the error of a key that did not create the state. */
export function identityKeyChanged(): MirrorError {
  return new MirrorError(message('identity-key-changed'), {
    actor: 'settings',
    code: 'identity-key-changed',
    retry: 'never',
    remedy: message('identity-key-changed.remedy'),
  });
}
