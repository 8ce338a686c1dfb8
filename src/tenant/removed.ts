import { slices } from '../core/model/pieces.ts';
import type { Instant } from '../core/model/time.ts';
import type { Lease } from '../engine/store.ts';
import { openNumber } from '../state/damaged.ts';
import { type KeyOwner, type KeyOwners, keys, keysOfTenant, type RemovablePart } from '../state/keys.ts';
import { type RedisClient, refusalOf } from '../state/redis.ts';
import { fencedScript, keyPagesLike, keysLike, sendAll, unlinkFenced } from '../state/script.ts';
import { type KeySizes, recordSizes } from '../state/tenant-storage.ts';

const recordRemoved = fencedScript<number>(import.meta.url, 'removed-record');

/** Holders of keys in a tenant: targets, connections and the tenant itself (null), each with the kinds of keys. */
export type KeyHolders = Map<RemovablePart | null, Set<string>>;

/** Removed tenants, targets and connections that still have keys, with the time of their removal. */
export interface RemovedStore {
  /** Kinds of keys that are also read under former ids of a renamed tenant or target (`formerly`). */
  readUnderFormerIds: ReadonlySet<string>;
  /** Returns every tenant with keys, and the holders of the keys. Reads the names of all keys. @param sizes receives the keys */
  holders(sizes?: KeySizes): Promise<Map<string, KeyHolders>>;
  /** Stores the memory of tenants. */
  recordSizes(tenants: Iterable<string>, sizes: KeySizes, now: Instant): Promise<void>;
  /** Returns removed targets and connections of a tenant. */
  parts(tenant: string): Promise<Map<RemovablePart, Instant>>;
  /** Returns removed tenants. */
  tenants(): Promise<Map<string, Instant>>;
  /** Records new removals; existing removals keep their time. Fenced by the planner's lease. */
  recordParts(tenant: string, change: RemovalChange<RemovablePart>, now: Instant, lease: Lease): Promise<void>;
  recordTenants(change: RemovalChange<string>, now: Instant): Promise<void>;
  /** Unlinks the keys of a part, except for spared kinds. Fenced by the planner's lease. @returns the number of keys */
  releasePart(tenant: string, part: RemovablePart, spared: ReadonlySet<string>, lease: Lease): Promise<number>;
  /**
   * Unlinks the keys of a tenant that is still removed: a process that configures the tenant again ends the lease.
   * @returns the number of keys; null if the tenant is configured again
   */
  releaseTenant(tenant: string, spared: ReadonlySet<string>, lease: Lease): Promise<number | null>;
}

/** New and ended removals. */
export interface RemovalChange<Name> {
  missed: readonly Name[];
  ended: readonly Name[];
}

/** Keys that are removed in one step. */
const KEYS_AT_ONCE = 500;

/** Opens the removals of all tenants. @param owners of all keys of the installation */
export function createRemovedStore(redis: RedisClient, owners: KeyOwners): RemovedStore {
  async function unlink(names: readonly string[], lease: Lease): Promise<number> {
    let count = 0;
    for (const slice of slices(names, KEYS_AT_ONCE)) {
      count += await unlinkFenced(redis, lease, slice);
    }
    return count;
  }
  async function release(tenant: string, lease: Lease, isWanted: (owner: KeyOwner) => boolean): Promise<number> {
    const found = new Map<string, string>();
    for await (const key of keysLike(redis, keysOfTenant(tenant))) {
      const owner = owners.of(key);
      if (owner?.tenant === tenant && isWanted(owner)) found.set(key, owner.kind);
    }
    // Records of targets first: a process that reuses partial remains then fetches the target's own objects again.
    const names = [...found.keys()].sort((one, other) => rankOf(found.get(one)) - rankOf(found.get(other)));
    return unlink(names, lease);
  }
  return {
    readUnderFormerIds: owners.readUnderFormerIds,
    async holders(sizes) {
      const all = new Map<string, KeyHolders>();
      for await (const { server, names } of keyPagesLike(redis, keysOfTenant(null))) {
        await sizes?.add(server, names);
        for (const owner of names.map(owners.of)) {
          if (owner === null) continue;
          const holders: KeyHolders = all.get(owner.tenant) ?? new Map();
          all.set(owner.tenant, holders.set(owner.part, (holders.get(owner.part) ?? new Set()).add(owner.kind)));
        }
      }
      return all;
    },
    recordSizes: (tenants, sizes, now) => recordSizes(redis, tenants, sizes, now),
    parts: (tenant) => instantsIn(redis, keys.removed(tenant), tenant),
    tenants: () => instantsIn(redis, keys.removedTenants(), '{removed}'),
    async recordParts(tenant, { missed, ended }, now, lease) {
      await recordRemoved(redis, lease, [keys.removed(tenant)], [now, missed.length, ...missed, ...ended]);
    },
    async recordTenants({ missed, ended }, now) {
      const pipeline = redis.pipeline();
      for (const tenant of missed) pipeline.hsetnx(keys.removedTenants(), tenant, now);
      for (const tenant of ended) pipeline.hdel(keys.removedTenants(), tenant);
      await sendAll(pipeline);
    },
    releasePart: (tenant, part, spared, lease) =>
      release(tenant, lease, (owner) => owner.part === part && !spared.has(owner.kind)),
    async releaseTenant(tenant, spared, lease) {
      // A process that joins from here on registers a new configuration, and thereby takes the planner's lease.
      const first = await unlink([keys.configuration(tenant)], lease);
      if ((await redis.hexists(keys.removedTenants(), tenant)) === 0) return null;
      return first + (await release(tenant, lease, ({ kind }) => !spared.has(kind)));
    },
  };
}

function rankOf(kind: string | undefined): number {
  return kind === 'target' ? 0 : 1;
}

/** Reads the times of removals. A removal with a damaged time is dropped and recorded again: nothing is released early. */
async function instantsIn<Name extends string>(
  redis: RedisClient,
  key: string,
  owner: string,
): Promise<Map<Name, Instant>> {
  const instants = new Map<Name, Instant>();
  for (const [name, stored] of Object.entries(await redis.hgetall(key))) {
    const at = openNumber(stored, { owner, kind: 'removed' });
    if (at === null) await refusalOf(() => redis.hdel(key, name));
    else instants.set(name as Name, at);
  }
  return instants;
}
