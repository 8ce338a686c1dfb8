import { randomBytes } from 'node:crypto';
import { CacheBudget } from '../core/model/cache.ts';
import { MirrorError } from '../core/model/errors.ts';
import { fnv1a } from '../core/model/hashes.ts';
import type { Link } from '../core/model/operations.ts';
import { slices } from '../core/model/pieces.ts';
import type { Instant } from '../core/model/time.ts';
import type { TimedLink } from '../engine/diff.ts';
import type { Lease, LinkTable } from '../engine/store.ts';
import { message } from '../messages/message.ts';
import { CachedLinks, createLinkFormat, encodeTime, type LinkFormat, type LinkVersions } from './formats.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { askEach, type FencedScript, fencedScript, KeyIndex, scoresOf, sendAll, unlinkFenced } from './script.ts';

const scripts = {
  write: fencedScript<number>(import.meta.url, 'links-write'),
  recordTimes: fencedScript<number>(import.meta.url, 'links-record-times'),
  remove: fencedScript<LinkVersions>(import.meta.url, 'links-remove'),
  flip: fencedScript<number>(import.meta.url, 'links-flip'),
  unlink: unlinkFenced,
};

/**
 * Links per bucket of a new table. A hash of at most 128 small fields stays a listpack in Redis (hash-max-listpack-entries), with half the
 * memory of a large hash.
 */
const LINKS_PER_BUCKET = 64;
/** Average bucket size that causes a new layout. */
const CROWDED_BUCKET = 120;
/** Buckets that are read together: a few thousand links. */
const BUCKETS_AT_ONCE = 32;

/** Distribution of a target's links over hashes. */
export interface LinkLayout {
  layoutVersion: number;
  buckets: number;
  /** Changes with every link; null before the first. */
  version: string | null;
}

/** Position in a target's links. */
export interface LinkCursor {
  layoutVersion: number;
  bucket: number;
  /** Last returned record of the bucket. */
  after: string;
}

/** Page of a target's links, with the position of the next page; null at the end. */
export interface LinkPage {
  links: Link[];
  next: LinkCursor | null;
}

/** Link tables of one tenant. */
export interface LinkStore extends LinkTable {
  /**
   * Returns links after a position, in the table's order. Links that exist from the first page to the last are returned exactly once.
   * @param cursor null for the first page
   * @throws MirrorError `conflict`, code `cursor-expired`, after a new layout of the table
   */
  page(target: string, cursor: LinkCursor | null, limit: number): Promise<LinkPage>;
  /** Removes records from the indexes of drift, unseen writes and removals; links stay. @returns the number of removed references */
  erase(target: string, recordIds: readonly string[]): Promise<number>;
  /**
   * Records a change by a script outside this store, so that cached links stay usable.
   * @param stored stored links by record id, '' for a removed link
   */
  recordChange(target: string, versions: LinkVersions, stored: ReadonlyMap<string, string>): void;
  /** Returns the key of a record's bucket, for scripts that write links together with different data. */
  bucketKey(target: string, layout: LinkLayout, recordId: string): string;
  /** Returns a link in its stored form. */
  encoded(target: string, link: Link): string;
  layout(target: string): Promise<LinkLayout>;
}

/** Returns a writer's name for one change of a link table. */
export function changeName(): string {
  return randomBytes(6).toString('base64url');
}

/**
 * Opens the link tables of a tenant.
 * @param identityKey the installation's key, 32 bytes, which proves locations of objects
 * @param room capacity for cached links; default none
 */
export function createLinkStore(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  room = new CacheBudget(0),
): LinkStore {
  return new RedisLinkStore(redis, tenant, createLinkFormat(identityKey, tenant), room);
}

class RedisLinkStore implements LinkStore {
  readonly #redis: RedisClient;
  readonly #tenant: string;
  readonly #format: LinkFormat;
  readonly #room: CacheBudget;
  readonly #cache = new Map<string, CachedLinks>();

  constructor(redis: RedisClient, tenant: string, format: LinkFormat, room: CacheBudget) {
    this.#redis = redis;
    this.#tenant = tenant;
    this.#format = format;
    this.#room = room;
  }

  async layout(target: string): Promise<LinkLayout> {
    const table = keys.linksMeta(this.#tenant, target);
    const [layoutVersion, buckets, version] = await this.#redis.hmget(table, 'generation', 'buckets', 'version');
    return { layoutVersion: Number(layoutVersion ?? 0), buckets: Number(buckets ?? 1), version: version ?? null };
  }

  bucketKey(target: string, { layoutVersion, buckets }: LinkLayout, recordId: string): string {
    return keys.linksBucket(this.#tenant, target, layoutVersion, bucketOf(recordId, buckets));
  }

  encoded(target: string, link: Link): string {
    return this.#format.encode(target, link);
  }

  async read(target: string): Promise<ReadonlyMap<string, Link>> {
    const at = await this.layout(target);
    const cached = this.#cache.get(target) ?? new CachedLinks(() => void this.#cache.delete(target));
    const links = cached.of(at.version) ?? (await this.#readAll(target, at));
    if (at.version === null) return links;
    // A change during the read gave the table a different version.
    cached.store(at.version, links);
    this.#cache.set(target, cached);
    this.#room.use(cached, links.size);
    return links;
  }

  recordChange(target: string, versions: LinkVersions, stored: ReadonlyMap<string, string>): void {
    this.#cache.get(target)?.record(versions, stored, (id, value) => this.#format.decode(target, id, value));
  }

  async readSome(target: string, recordIds: readonly string[]): Promise<Map<string, Link>> {
    if (recordIds.length === 0) return new Map();
    const at = await this.layout(target);
    const stored = await askEach<string | null>(this.#redis, recordIds, (pipeline, recordId) =>
      pipeline.hget(this.bucketKey(target, at, recordId), recordId),
    );
    const links = new Map<string, Link>();
    for (const [index, recordId] of recordIds.entries()) {
      const value = stored[index] ?? null;
      if (value !== null) links.set(recordId, this.#format.decode(target, recordId, value));
    }
    return links;
  }

  async page(target: string, cursor: LinkCursor | null, limit: number): Promise<LinkPage> {
    const at = await this.layout(target);
    const links: Link[] = [];
    let [bucket, after] = [cursor?.bucket ?? 0, cursor?.after ?? ''];
    let next: LinkCursor | null = null;
    for (const slice of slices(this.#bucketsOf(target, at).slice(bucket), BUCKETS_AT_ONCE)) {
      for (const found of await this.#readBuckets(target, slice)) {
        const rest = found
          .filter(({ recordId }) => recordId > after)
          .sort((a, b) => (a.recordId < b.recordId ? -1 : 1));
        const pageLinks = rest.slice(0, limit - links.length);
        links.push(...pageLinks);
        if (pageLinks.length < rest.length) {
          next ??= { layoutVersion: at.layoutVersion, bucket, after: pageLinks.at(-1)?.recordId ?? after };
        }
        [bucket, after] = [bucket + 1, ''];
      }
      if (next !== null) break;
    }
    const { layoutVersion } = await this.layout(target);
    if (layoutVersion === (cursor?.layoutVersion ?? at.layoutVersion)) return { links, next };
    if (cursor === null) return this.page(target, null, limit);
    throw new MirrorError(message('cursor-expired'), {
      actor: 'conflict',
      code: 'cursor-expired',
      retry: 'never',
      remedy: message('cursor-expired.remedy'),
    });
  }

  async count(target: string): Promise<number> {
    const buckets = this.#bucketsOf(target, await this.layout(target));
    const lengths = await askEach<number>(this.#redis, buckets, (pipeline, bucket) => pipeline.hlen(bucket));
    return lengths.reduce((sum, length) => sum + length, 0);
  }

  async drifted(target: string): Promise<Link[]> {
    const links = await this.readSome(target, await this.#redis.smembers(keys.drifted(this.#tenant, target)));
    return [...links.values()].filter(({ drift }) => drift !== null);
  }

  async nameDrifted(target: string, recordIds: ReadonlySet<string>): Promise<void> {
    const key = keys.drifted(this.#tenant, target);
    const others = (await this.#redis.smembers(key)).filter((id) => !recordIds.has(id));
    const pipeline = this.#redis.pipeline();
    for (const slice of slices([...recordIds], 500)) pipeline.sadd(key, ...slice);
    for (const slice of slices(others, 500)) pipeline.srem(key, ...slice);
    await sendAll(pipeline);
  }

  async unseen(target: string): Promise<Map<string, Instant>> {
    const key = keys.unseen(this.#tenant, target);
    return scoresOf(await this.#redis.zrangebyscore(key, '-inf', '+inf', 'WITHSCORES'));
  }

  async recordSeen(target: string, recordIds: Iterable<string>): Promise<void> {
    const key = keys.unseen(this.#tenant, target);
    for (const slice of slices([...recordIds], 500)) await this.#redis.zrem(key, slice);
  }

  async erase(target: string, recordIds: readonly string[]): Promise<number> {
    let removed = 0;
    for (const slice of slices(recordIds, 500)) {
      removed += await this.#redis.srem(keys.drifted(this.#tenant, target), ...slice);
      removed += await this.#redis.zrem(keys.unseen(this.#tenant, target), ...slice);
      removed += await this.#redis.srem(keys.takenOut(this.#tenant, target), ...slice);
    }
    return removed;
  }

  async writeAll(target: string, links: readonly Link[], lease: Lease): Promise<void> {
    await this.#write(target, await this.layout(target), links, lease);
  }

  async recordTimes(target: string, links: readonly TimedLink[], lease: Lease): Promise<void> {
    if (links.length === 0) return;
    const at = await this.layout(target);
    for (const slice of slices(links, 500)) {
      const named = this.#keysOf(target, lease);
      const tuples = slice.flatMap((link) => [
        named.position(this.bucketKey(target, at, link.recordId)),
        link.recordId,
        link.fingerprint,
        encodeTime(link),
      ]);
      await this.#change(scripts.recordTimes, named, lease, tuples);
    }
  }

  async release(target: string, recordIds: readonly string[], lease: Lease): Promise<void> {
    if (recordIds.length === 0) return;
    const at = await this.layout(target);
    for (const slice of slices(recordIds, 500)) {
      const named = this.#keysOf(target, lease);
      const tuples = slice.flatMap((id) => [named.position(this.bucketKey(target, at, id)), id]);
      const versions = await this.#change(scripts.remove, named, lease, tuples);
      this.recordChange(target, versions, new Map(slice.map((id) => [id, ''])));
    }
  }

  clear(target: string, lease: Lease): Promise<void> {
    return this.#replace(target, [], 1, lease);
  }

  async isCrowded(target: string, expected: number): Promise<boolean> {
    return isTooMany(expected, await this.layout(target));
  }

  async fit(target: string, expected: number, lease: Lease): Promise<void> {
    const before = await this.layout(target);
    if (!isTooMany(expected, before)) return;
    const links = await this.#readAll(target, before);
    await this.#replace(target, [...links.values()], bucketsFor(expected), lease);
  }

  async #readAll(target: string, at: LinkLayout): Promise<Map<string, Link>> {
    const links = new Map<string, Link>();
    // A few buckets at a time: decoding blocks the main thread.
    for (const slice of slices(this.#bucketsOf(target, at), BUCKETS_AT_ONCE)) {
      for (const link of (await this.#readBuckets(target, slice)).flat()) links.set(link.recordId, link);
    }
    return links;
  }

  async #readBuckets(target: string, buckets: readonly string[]): Promise<Link[][]> {
    const found = await askEach<Record<string, string>>(this.#redis, buckets, (pipeline, one) => pipeline.hgetall(one));
    return found.map((fields) => Object.entries(fields).map(([id, value]) => this.#format.decode(target, id, value)));
  }

  #bucketsOf(target: string, { layoutVersion, buckets }: LinkLayout): string[] {
    return Array.from({ length: buckets }, (_, bucket) =>
      keys.linksBucket(this.#tenant, target, layoutVersion, bucket),
    );
  }

  /** Returns the first keys of a script that changes links. */
  #keysOf(target: string, lease: Lease): KeyIndex {
    return new KeyIndex(lease.key, keys.linksMeta(this.#tenant, target));
  }

  #change<Answer>(
    script: FencedScript<Answer>,
    named: KeyIndex,
    lease: Lease,
    args: readonly (string | number)[],
  ): Promise<Answer> {
    return script(this.#redis, lease, named.keys.slice(1), [changeName(), ...args]);
  }

  async #write(target: string, at: LinkLayout, links: readonly Link[], lease: Lease): Promise<void> {
    for (const slice of slices(links, 500)) {
      const named = this.#keysOf(target, lease);
      const tuples = slice.flatMap((link) => [
        named.position(this.bucketKey(target, at, link.recordId)),
        link.recordId,
        this.encoded(target, link),
      ]);
      await this.#change(scripts.write, named, lease, tuples);
    }
  }

  /** Writes a new generation, then switches: readers see one complete generation. */
  async #replace(target: string, links: readonly Link[], buckets: number, lease: Lease): Promise<void> {
    const before = await this.layout(target);
    const after = { ...before, layoutVersion: before.layoutVersion + 1, buckets };
    // A process that died before the switch left part of a table under these names.
    await this.#remove(target, after, lease);
    await this.#write(target, after, links, lease);
    await this.#change(scripts.flip, this.#keysOf(target, lease), lease, [after.layoutVersion, after.buckets]);
    await this.#remove(target, before, lease);
  }

  async #remove(target: string, at: LinkLayout, lease: Lease): Promise<void> {
    for (const slice of slices(this.#bucketsOf(target, at), 500)) {
      await scripts.unlink(this.#redis, lease, slice);
    }
  }
}

function isTooMany(links: number, { buckets }: LinkLayout): boolean {
  return links > buckets * CROWDED_BUCKET;
}

function bucketsFor(links: number): number {
  return 2 ** Math.ceil(Math.log2(Math.max(1, links / LINKS_PER_BUCKET)));
}

function bucketOf(recordId: string, buckets: number): number {
  return fnv1a(recordId) % buckets;
}
