import { randomBytes } from 'node:crypto';
import { type Forgettable, KeptRoom } from '../model/kept.ts';
import type { Link } from '../model/operations.ts';
import { isWorthPacking, PackedMap } from '../model/packed.ts';
import { slices } from '../model/slices.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import { FENCE, fencedError, isFenced, type Lease } from './leases.ts';
import { decodeLink, encodeLink, encodeTime } from './link-format.ts';
import type { RedisClient } from './redis.ts';

/**
 * Links per bucket that a new table is laid out for. A hash of at most 128 small fields stays a listpack in Redis
 * (hash-max-listpack-entries), which takes half the memory of a large hash.
 */
const LINKS_PER_BUCKET = 64;
/** A table is laid out again when its buckets hold more than this on average. */
const CROWDED_BUCKET = 120;
/** Buckets that are read in one go: a few thousand links. */
const BUCKETS_AT_ONCE = 32;

/** How the links of a target are spread over hashes. */
export interface LinkLayout {
  generation: number;
  buckets: number;
  /** Another one after each change of any link; null before the first. */
  version: string | null;
}

/** The link tables of one tenant. */
export interface LinkStore {
  /** All links of a target by record id. The same map as before while none has changed; of a tenant with many it is packed. */
  read(target: string): Promise<ReadonlyMap<string, Link>>;
  /** Those of the given records that have one. */
  readSome(target: string, recordIds: readonly string[]): Promise<Map<string, Link>>;
  count(target: string): Promise<number>;
  /** Those that say that a person touched their object. */
  marked(target: string): Promise<Link[]>;
  /**
   * Names the records whose links are marked, or are about to be: before the links are written, so that none is ever missed.
   * Names of links that carry no mark any more do no harm, and go with the next call.
   */
  nameMarked(target: string, recordIds: ReadonlySet<string>): Promise<void>;
  /** Records that were written while a change feed was followed and that no reading has shown since, by the time of the write. */
  unseen(target: string): Promise<Map<string, Instant>>;
  noteSeen(target: string, recordIds: Iterable<string>): Promise<void>;
  /** Takes records out of what is noted of marks, unseen writes and removals; links stay. @returns how many notes there were */
  forget(target: string, recordIds: readonly string[]): Promise<number>;
  /** Writes links in bulk, as adoption does. Fenced. */
  writeAll(target: string, links: readonly Link[], lease: Lease): Promise<void>;
  /** Notes the times of records whose objects are as they were: in links that still have that fingerprint. Fenced. */
  noteTimes(
    target: string,
    links: readonly Pick<Link, 'recordId' | 'fingerprint' | 'startAt' | 'endAt'>[],
    lease: Lease,
  ): Promise<void>;
  /** Forgets links whose records left the window. Fenced. */
  release(target: string, recordIds: readonly string[], lease: Lease): Promise<void>;
  /** Forgets every link of a target whose calendar was replaced. */
  clear(target: string, lease: Lease): Promise<void>;
  /** Whether so many links would crowd the table. */
  isCrowded(target: string, expected: number): Promise<boolean>;
  /** Lays the table out for this many links when it is crowded; both writers must be kept out meanwhile. */
  fit(target: string, expected: number, lease: Lease): Promise<void>;
  /** Key of the bucket that holds a record's link, for scripts that write links with other things. */
  bucketKey(target: string, layout: LinkLayout, recordId: string): string;
  layout(target: string): Promise<LinkLayout>;
}

/**
 * Gives a link table its next version, a number and what its writer calls the change: a Redis that went back in time may come to the same
 * number again.
 */
export const TOUCH = `
local function touch(meta, writer)
  local number = string.match(redis.call('HGET', meta, 'version') or '', '^%d+') or '0'
  redis.call('HSET', meta, 'version', (number + 1) .. ' ' .. writer)
end`;

/** What a writer calls one change of a link table. */
export function changeName(): string {
  return randomBytes(6).toString('base64url');
}

// KEYS of those that change links: lease, table, then buckets. ARGV: token, name of the change, then what each says.
const CHANGE = `${FENCE}${TOUCH}
touch(KEYS[2], ARGV[2])`;

const WRITE = `${CHANGE}
for i = 3, #ARGV, 3 do redis.call('HSET', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]) end
return 1`;

// A lane may write the same link meanwhile: only the time of one that still tells of the same item is set.
const NOTE_TIMES = `${CHANGE}
for i = 3, #ARGV, 4 do
  local bucket, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1]
  local fingerprint, rest = string.match(redis.call('HGET', bucket, id) or '', '^([^\\t]*)\\t[^\\t]*(.*)$')
  if fingerprint == ARGV[i + 2] then redis.call('HSET', bucket, id, fingerprint .. '\\t' .. ARGV[i + 3] .. rest) end
end
return 1`;

const REMOVE = `${CHANGE}
for i = 3, #ARGV, 2 do redis.call('HDEL', KEYS[tonumber(ARGV[i])], ARGV[i + 1]) end
return 1`;

const UNLINK = `${FENCE}
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1`;

const FLIP = `${CHANGE}
redis.call('HSET', KEYS[2], 'generation', ARGV[3], 'buckets', ARGV[4])
return 1`;

/** Links of one target as they were read. */
interface KeptLinks extends Forgettable {
  version: string;
  links: ReadonlyMap<string, Link>;
}

/**
 * Opens the link tables of a tenant.
 * @param room for links that are kept until they change; by default none are
 */
export function createLinkStore(redis: RedisClient, tenant: string, room = new KeptRoom(0)): LinkStore {
  const kept = new Map<string, KeptLinks>();
  const tableOf = (target: string) => keys.linksMeta(tenant, target);
  const layout = (target: string) => readLayout(redis, tenant, target);
  const bucketKey = (target: string, { generation, buckets }: LinkLayout, recordId: string) =>
    keys.linksBucket(tenant, target, generation, bucketOf(recordId, buckets));

  /** Runs a script that changes links. */
  function change(script: string, named: KeyIndex, lease: Lease, args: readonly (string | number)[]): Promise<unknown> {
    return fenced(redis.eval(script, named.keys.length, ...named.keys, lease.token, changeName(), ...args));
  }

  async function write(target: string, at: LinkLayout, links: readonly Link[], lease: Lease): Promise<void> {
    for (const slice of slices(links, 500)) {
      const named = new KeyIndex(lease.key, tableOf(target));
      const tuples = slice.flatMap((link) => [
        named.position(bucketKey(target, at, link.recordId)),
        link.recordId,
        encodeLink(link),
      ]);
      await change(WRITE, named, lease, tuples);
    }
  }

  async function readAll(target: string, at: LinkLayout): Promise<Map<string, Link>> {
    const links = new Map<string, Link>();
    // Some buckets at a time: what is decoded in one go keeps everybody else waiting.
    for (const slice of slices(bucketsOf(target, at), BUCKETS_AT_ONCE)) {
      const pipeline = redis.pipeline();
      for (const bucket of slice) pipeline.hgetall(bucket);
      for (const [error, fields] of (await pipeline.exec()) ?? []) {
        if (error !== null) throw error;
        for (const [recordId, value] of Object.entries(fields as Record<string, string>)) {
          links.set(recordId, decodeLink(recordId, value));
        }
      }
    }
    return links;
  }

  async function readSome(target: string, recordIds: readonly string[]): Promise<Map<string, Link>> {
    if (recordIds.length === 0) return new Map();
    const at = await layout(target);
    const pipeline = redis.pipeline();
    for (const recordId of recordIds) pipeline.hget(bucketKey(target, at, recordId), recordId);
    const answers = (await pipeline.exec()) ?? [];
    const links = new Map<string, Link>();
    for (const [index, recordId] of recordIds.entries()) {
      const [error, value] = answers[index] ?? [null, null];
      if (error !== null) throw error;
      if (typeof value === 'string') links.set(recordId, decodeLink(recordId, value));
    }
    return links;
  }

  const bucketsOf = (target: string, { generation, buckets }: LinkLayout) =>
    Array.from({ length: buckets }, (_, bucket) => keys.linksBucket(tenant, target, generation, bucket));

  async function remove(target: string, at: LinkLayout, lease: Lease): Promise<void> {
    for (const slice of slices(bucketsOf(target, at), 500)) {
      await fenced(redis.eval(UNLINK, slice.length + 1, lease.key, ...slice, lease.token));
    }
  }

  /** Writes a new generation beside the old one, then flips to it: a reader sees one or the other whole. */
  async function replace(target: string, links: readonly Link[], buckets: number, lease: Lease): Promise<void> {
    const before = await layout(target);
    const after = { ...before, generation: before.generation + 1, buckets };
    // A process that died before its flip left part of a table under the same names.
    await remove(target, after, lease);
    await write(target, after, links, lease);
    await change(FLIP, new KeyIndex(lease.key, tableOf(target)), lease, [after.generation, after.buckets]);
    await remove(target, before, lease);
  }

  return {
    layout,
    bucketKey,
    async read(target) {
      const at = await layout(target);
      const known = kept.get(target);
      if (known?.version === at.version) {
        room.use(known, known.links.size);
        return known.links;
      }
      const read = await readAll(target, at);
      const links = isWorthPacking(read.size, laidOutBeside(kept, target) + read.size) ? new PackedMap(read) : read;
      if (at.version === null) return links;
      // What changed while it was read has given the table another version by now.
      const forget = known?.forget ?? (() => void kept.delete(target));
      const entry: KeptLinks = Object.assign(known ?? { forget }, { version: at.version, links });
      kept.set(target, entry);
      room.use(entry, links.size);
      return links;
    },
    readSome,
    async count(target) {
      const pipeline = redis.pipeline();
      for (const bucket of bucketsOf(target, await layout(target))) pipeline.hlen(bucket);
      return ((await pipeline.exec()) ?? []).reduce((sum, [, length]) => sum + Number(length), 0);
    },
    async marked(target) {
      const links = await readSome(target, await redis.smembers(keys.marked(tenant, target)));
      return [...links.values()].filter(({ drift }) => drift !== null);
    },
    async nameMarked(target, recordIds) {
      const key = keys.marked(tenant, target);
      const others = (await redis.smembers(key)).filter((id) => !recordIds.has(id));
      const pipeline = redis.pipeline();
      for (const slice of slices([...recordIds], 500)) pipeline.sadd(key, ...slice);
      for (const slice of slices(others, 500)) pipeline.srem(key, ...slice);
      await pipeline.exec();
    },
    async unseen(target) {
      const scored = await redis.zrangebyscore(keys.unseen(tenant, target), '-inf', '+inf', 'WITHSCORES');
      const unseen = new Map<string, Instant>();
      for (let at = 0; at < scored.length; at += 2) unseen.set(scored[at] as string, Number(scored[at + 1]));
      return unseen;
    },
    async noteSeen(target, recordIds) {
      for (const slice of slices([...recordIds], 500)) await redis.zrem(keys.unseen(tenant, target), slice);
    },
    async forget(target, recordIds) {
      let removed = 0;
      for (const slice of slices(recordIds, 500)) {
        removed += await redis.srem(keys.marked(tenant, target), ...slice);
        removed += await redis.zrem(keys.unseen(tenant, target), ...slice);
        removed += await redis.srem(keys.takenOut(tenant, target), ...slice);
      }
      return removed;
    },
    writeAll: async (target, links, lease) => write(target, await layout(target), links, lease),
    async noteTimes(target, links, lease) {
      if (links.length === 0) return;
      const at = await layout(target);
      for (const slice of slices(links, 500)) {
        const named = new KeyIndex(lease.key, tableOf(target));
        const tuples = slice.flatMap((link) => [
          named.position(bucketKey(target, at, link.recordId)),
          link.recordId,
          link.fingerprint,
          encodeTime(link),
        ]);
        await change(NOTE_TIMES, named, lease, tuples);
      }
    },
    async release(target, recordIds, lease) {
      if (recordIds.length === 0) return;
      const at = await layout(target);
      for (const slice of slices(recordIds, 500)) {
        const named = new KeyIndex(lease.key, tableOf(target));
        const tuples = slice.flatMap((id) => [named.position(bucketKey(target, at, id)), id]);
        await change(REMOVE, named, lease, tuples);
      }
    },
    clear: (target, lease) => replace(target, [], 1, lease),
    isCrowded: async (target, expected) => isTooMany(expected, await layout(target)),
    async fit(target, expected, lease) {
      const before = await layout(target);
      if (!isTooMany(expected, before)) return;
      const links = await readAll(target, before);
      await replace(target, [...links.values()], bucketsFor(expected), lease);
    },
  };
}

/** How many links of other targets are kept as they are. */
function laidOutBeside(kept: ReadonlyMap<string, KeptLinks>, target: string): number {
  const others = [...kept].filter(([name, { links }]) => name !== target && !(links instanceof PackedMap));
  return others.reduce((sum, [, { links }]) => sum + links.size, 0);
}

/** Numbers the keys of a script as they come up; Lua counts from 1. */
export class KeyIndex {
  readonly keys: string[];
  readonly #positions = new Map<string, number>();

  constructor(...first: string[]) {
    this.keys = [];
    for (const key of first) this.position(key);
  }

  position(key: string): number {
    const known = this.#positions.get(key);
    if (known !== undefined) return known;
    this.keys.push(key);
    this.#positions.set(key, this.keys.length);
    return this.keys.length;
  }
}

/** Awaits a fenced script. @throws MirrorError `conflict`, code `lease-lost` */
export async function fenced<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    throw isFenced(error) ? fencedError() : error;
  }
}

async function readLayout(redis: RedisClient, tenant: string, target: string): Promise<LinkLayout> {
  const table = keys.linksMeta(tenant, target);
  const [generation, buckets, version] = await redis.hmget(table, 'generation', 'buckets', 'version');
  return { generation: Number(generation ?? 0), buckets: Number(buckets ?? 1), version: version ?? null };
}

function isTooMany(links: number, { buckets }: LinkLayout): boolean {
  return links > buckets * CROWDED_BUCKET;
}

function bucketsFor(links: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, links / LINKS_PER_BUCKET)));
}

/** FNV-1a over the id's UTF-16 code units. */
function bucketOf(recordId: string, buckets: number): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < recordId.length; index += 1) {
    hash = Math.imul(hash ^ recordId.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash % buckets;
}
