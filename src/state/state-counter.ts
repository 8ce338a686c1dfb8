import { createHmac } from 'node:crypto';
import type { Logger } from '../log/logger.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { base32hex } from '../model/hashes.ts';
import { type Clock, type Instant, SECOND_MS } from '../model/time.ts';
import { type CounterName, type DataDirectory, openDataDirectory } from './data-directory.ts';
import { keys } from './keys.ts';
import { type AwaitDurable, createAwaitDurable, type Durability, type RedisClient, shardsOf } from './redis.ts';
import { redisScript } from './script.ts';

const advanceCounter = redisScript<(string | number)[]>(import.meta.url, 'state-counter-advance');

/** How the state is kept, for whoever looks. */
export interface StateCounterView {
  /** How far the last decision was made sure of; null before the first. */
  durability: Durability | null;
  /** The directory outside Redis: `none` is configured, it is `kept`, or it `failed`. */
  directory: 'none' | 'kept' | 'failed';
  /** The system's code of why it failed, such as ENOSPC; null where it did not. */
  directoryFailure?: string | null;
  /** When Redis was last found to be older than what was known outside of it, and what it was as of; null: never, or not known. */
  wentBackAt: Instant | null;
  wentBackTo: Instant | null;
  /** When Redis was last found to have lost the memory of writes to targets; null: never. Targets are read again for it. */
  writesLostAt: Instant | null;
}

/**
 * A counter in Redis and its highest known value outside: each decision before an outside effect that can't be repeated raises it.
 * A Redis whose counter is behind has lost such decisions: a replica or a backup took over, or it was emptied. Each master of a cluster
 * has counters of its own, for the tenants that lie on it.
 */
export interface StateCounter extends TenantStateCounter {
  /** What tells the installation's identity key from others, and nothing else of it: 16 characters of `[0-9a-v]`. */
  identity: string;
  /** The same for where a tenant's decisions and writes lie, under each of its ids; the methods here are for all that there is. */
  of(...tenantIds: readonly string[]): TenantStateCounter;
  /** @throws MirrorError `settings`, code `identity-key-changed`, when Redis or the directory belongs to another identity key */
  requireIdentity(): Promise<void>;
  view(): Promise<StateCounterView>;
}

/** How far the state has come that a tenant's decisions and writes are part of. */
export interface TenantStateCounter {
  /**
   * Makes what was decided last, before an outside effect: on the disk of Redis and, where there are, a replica, and marked outside of it.
   * Callers of one moment share the wait.
   * @returns when the state last went back, 0 for never: what was due until then may have been done
   * @throws MirrorError `remote`, code `state-not-durable`, when it was not confirmed in time; what Redis throws
   */
  confirm(): Promise<Instant | 0>;
  /** Looks whether the state went back. @returns as `settle` */
  check(): Promise<Instant | 0>;
  /** Takes note, before it goes out, that something is written to a target. Does not wait for the disk of Redis. */
  recordWriting(): Promise<void>;
  /** When the state was last found to have lost decisions or writes; 0 for never. What targets hold is to be read again since then. */
  lostAt(): Promise<Instant | 0>;
  /** @returns undefined where no directory is configured or it can't be used: that is told once, and all goes on without it */
  withDirectory<Result>(work: (directory: DataDirectory) => Promise<Result>): Promise<Result | undefined>;
  /**
   * The same for what must not go on without the directory, where one is configured.
   * @throws MirrorError `settings`, code `data-directory-unusable`
   */
  requireDirectory(work: (directory: DataDirectory) => Promise<void>): Promise<void>;
  /** From now on Redis and the directory belong to this identity key: it has proved to be the one that objects were made with. */
  storeIdentity(): Promise<void>;
}

/** What an epoch works with. */
export interface StateCounterParts {
  redis: RedisClient;
  /** A connection of its own: waiting for the disk holds up whatever else is sent over it. */
  writer: RedisClient;
  /** How many replicas must know a decision; null: one, if any is connected. */
  replicas: number | null;
  /** Directory outside Redis; null for none. */
  directory: string | null;
  identityKey: Uint8Array;
  clock: Clock;
  log: Logger;
}

/** What reminders and doubts that come of it are called. */
export const STATE_WENT_BACK = 'state-went-back';
/** Code of the error of a key that the state, or an object, was not made with. */
export const IDENTITY_KEY_CHANGED = 'identity-key-changed';

/** Of several parts of the state the least safe one counts. */
const LEAST_FIRST: readonly Durability[] = ['late', 'unsupported', 'durable'];
/** By then a counter that Redis tells is on its disk: `appendfsync everysec`. */
const SURELY_DURABLE_MS = 10 * SECOND_MS;

/** What tells an identity key from others, and nothing else of it: 16 characters of `[0-9a-v]`. */
export function identityFingerprint(identityKey: Uint8Array): string {
  return base32hex(
    createHmac('sha256', identityKey).update('clinic-mirror identity fingerprint').digest().subarray(0, 10),
  );
}

/** Opens the epoch of an installation. */
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

  /** @param existing keys that lie in the parts that are meant; null for all parts */
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
      await directory.get();
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

/** Whose marks the epoch looks after. */
type CounterKind = Exclude<CounterName, 'managed'>;

/** The counters of one part of the state. */
function openShard(shard: number, { redis, writer, clock, log, directory, awaitDurable }: ShardParts) {
  const keyOf = { decisions: keys.epoch(shard), writes: keys.writes(shard) };
  const highest: Record<CounterKind, number> = { decisions: 0, writes: 0 };
  let durability: Durability | null = null;

  async function advance(client: RedisClient, by: 0 | 1, name: CounterKind) {
    const marked = (await directory.use((dataDirectory) => dataDirectory.readMark({ name, shard }))) ?? 0;
    const now = clock();
    const existing = Math.max(highest[name], marked);
    const answer = await advanceCounter(client, [keyOf[name]], [existing, now, by]);
    const [counter = 0, at = 0, wentBackAt = 0, wentBackTo = 0] = answer.map(Number);
    if (wentBackAt === now) {
      log.error(
        { code: STATE_WENT_BACK, wentBackTo: wentBackTo || null },
        `Redis is older than it was: it lost ${name}`,
      );
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
    // For those who ask in another process.
    if (durability !== before) await redis.hset(keyOf.decisions, 'durability', durability);
    if (durability === 'late') throw notDurable();
    await storeMark('decisions', counter, now);
    // Where another server took over meanwhile, it was that one which answered.
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
      const writesLostAt = Number(await redis.hget(keyOf.writes, 'wentBackAt'));
      const [durability = null, wentBackAt, wentBackTo] = fields;
      return {
        durability: durability as Durability | null,
        wentBackAt: Number(wentBackAt),
        wentBackTo: Number(wentBackTo),
        writesLostAt,
      };
    },
  };
}

/** Whoever asks while one is under way shares the next one: what they decided may have come after it began. */
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

/** A directory that can't be used is told once, and tried again each time: the daemon goes on without it. */
function openOnce(path: string | null, log: Logger) {
  let opened: DataDirectory | null = null;
  let failed: string | null = null;
  const fail = (error: unknown) => {
    if (failed === null) log.error({ code: 'data-directory-unusable', error }, 'nothing can be kept outside Redis');
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

/** The error of a key that the state was not made with. */
export function identityKeyChanged(): MirrorError {
  return new MirrorError(message('identity-key-changed'), {
    actor: 'settings',
    code: 'identity-key-changed',
    retry: 'never',
    remedy: message('identity-key-changed.remedy'),
  });
}
