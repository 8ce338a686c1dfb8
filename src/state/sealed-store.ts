import { MirrorError } from '../model/errors.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, fencedScript, type LeaseToken } from './script.ts';
import { openSealed, type Sealer } from './sealing.ts';

const setFields = fencedScript<number>(import.meta.url, 'fenced-set');

/** What a sealed store works with. */
export interface SealedStoreOptions {
  redis: RedisClient;
  sealer: Sealer;
  /** A value that does not open throws what the sealer throws. Otherwise it counts as absent. */
  throwsForged?: boolean;
}

/** A value as it was read. */
export interface SealedRead<Value> {
  /** Null: there is none, or it does not open. */
  value: Value | null;
  /** As Redis has it. */
  sealed: string | null;
}

/** Reads and removes fields of a hash whose values are sealed. */
function sealedFields<Value>(key: string, { redis, sealer, throwsForged = false }: SealedStoreOptions) {
  const contextOf = (field: string) => `${key} ${field}`;
  const open = (field: string, sealed: string) => openedBy<Value>(sealer, sealed, contextOf(field), throwsForged);
  return {
    contextOf,
    open,
    seal: (field: string, value: Value) => sealer.seal(JSON.stringify(value), contextOf(field)),
    /** All fields. */
    async entries(): Promise<({ field: string } & SealedRead<Value>)[]> {
      const all = Object.entries(await redis.hgetall(key));
      return all.map(([field, sealed]) => ({ field, value: open(field, sealed), sealed }));
    },
    async read(field: string): Promise<SealedRead<Value>> {
      const sealed = await redis.hget(key, field);
      return { value: sealed === null ? null : open(field, sealed), sealed };
    },
    remove: async (fields: readonly string[]) => (fields.length === 0 ? 0 : redis.hdel(key, ...fields)),
  };
}

/** Opens a hash whose values are JSON, each sealed under the hash's key and its field: a value opens in no other place. */
export function sealedTable<Value>(key: string, options: SealedStoreOptions) {
  const { redis, sealer } = options;
  const { contextOf, open, seal, entries, read, remove } = sealedFields<Value>(key, options);
  return {
    key,
    seal,
    entries,
    remove,
    read,
    get: async (field: string) => (await read(field)).value,
    /** The values that open. */
    async all(): Promise<Map<string, Value>> {
      return new Map(
        (await entries()).flatMap(({ field, value }) => (value === null ? [] : [[field, value] as const])),
      );
    },
    /** The values of some fields that open. */
    async some(fields: readonly string[]): Promise<Map<string, Value>> {
      const stored = fields.length === 0 ? [] : await redis.hmget(key, ...fields);
      const opened = fields.map((field, index) => [field, stored[index] == null ? null : open(field, stored[index])]);
      return new Map(opened.filter((pair): pair is [string, Value] => pair[1] !== null));
    },
    /** Removes the values that are over or do not open. @returns the others */
    async prune(isOver: (value: Value) => boolean): Promise<Map<string, Value>> {
      const [current, over] = [new Map<string, Value>(), [] as string[]];
      for (const { field, value } of await entries()) {
        if (value === null || isOver(value)) over.push(field);
        else current.set(field, value);
      }
      await remove(over);
      return current;
    },
    /** Removes all other fields. */
    async keepOnly(fields: readonly string[]): Promise<void> {
      await remove((await redis.hkeys(key)).filter((field) => !fields.includes(field)));
    },
    async set(field: string, value: Value): Promise<void> {
      await redis.hset(key, field, seal(field, value));
    },
    /** Writes a field; null removes it. @throws MirrorError `conflict`, code `lease-lost` */
    async setFenced(field: string, value: Value | null, lease: LeaseToken): Promise<void> {
      await setFields(redis, lease, [key], [field, value === null ? '' : seal(field, value)]);
    },
    /** @returns false if there is a value, which stays */
    add: async (field: string, value: Value) => (await redis.hsetnx(key, field, seal(field, value))) === 1,
    /**
     * Writes fields in one step if one of them is as it was read; null removes a field.
     * @returns false if it was changed
     */
    async replace(field: string, before: string | null, written: Iterable<readonly [string, Value | null]>) {
      const values = Array.from(written, ([name, value]) => ({
        ...{ key, field: name },
        value: value === null ? null : seal(name, value),
      }));
      return (await compareAndSet(redis, [{ key, field, value: before }], values)) === null;
    },
    /** Removes the values that clinic-mirror did not seal here; a value whose key is not configured stays. @returns how many */
    async dropForged(): Promise<number> {
      const all = Object.entries(await redis.hgetall(key));
      return remove(all.flatMap(([field, sealed]) => (isForged(sealer, sealed, contextOf(field)) ? [field] : [])));
    },
  };
}

/** Opens a key that is a string: JSON, sealed under the key. */
export function sealedValue<Value>(key: string, { redis, sealer, throwsForged = false }: SealedStoreOptions) {
  const seal = (value: Value) => sealer.seal(JSON.stringify(value), key);
  const open = (sealed: string | null): SealedRead<Value> => ({
    value: sealed === null ? null : openedBy<Value>(sealer, sealed, key, throwsForged),
    sealed,
  });
  const read = async () => open(await redis.get(key));
  return {
    seal,
    open,
    read,
    get: async () => (await read()).value,
    /** Returns the value once. */
    take: async () => open(await redis.getdel(key)).value,
    async set(value: Value): Promise<void> {
      await redis.set(key, seal(value));
    },
    async setFor(lifeMs: number, value: Value): Promise<void> {
      await redis.set(key, seal(value), 'PX', lifeMs);
    },
    /** @returns false if it is not as it was read any more */
    replace: async (before: string | null, value: Value) =>
      (await compareAndSet(redis, [{ key, value: before }], [{ key, value: seal(value) }])) === null,
  };
}

function openedBy<Value>(sealer: Sealer, sealed: string, context: string, throwsForged: boolean): Value | null {
  return throwsForged
    ? (JSON.parse(sealer.open(sealed, context)) as Value)
    : openSealed<Value>(sealer, sealed, context);
}

function isForged(sealer: Sealer, sealed: string, context: string): boolean {
  try {
    sealer.open(sealed, context);
    return false;
  } catch (error) {
    return !(error instanceof MirrorError && error.code === 'sealing-key-unknown');
  }
}
