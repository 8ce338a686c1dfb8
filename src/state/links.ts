import { randomBytes } from 'node:crypto';
import { message } from '../messages/message.ts';
import { CacheBudget } from '../model/cache.ts';
import { MirrorError } from '../model/errors.ts';
import { fnv1a } from '../model/hashes.ts';
import type { Link } from '../model/operations.ts';
import { slices } from '../model/pieces.ts';
import type { Instant } from '../model/time.ts';
import { CachedLinks, createLinkFormat, encodeTime, type LinkFormat, type LinkVersions } from './formats.ts';
import { keys } from './keys.ts';
import type { Lease } from './leases.ts';
import type { RedisClient } from './redis.ts';
import { askEach, type FencedScript, fencedScript, KeyIndex, scoresOf } from './script.ts';

const scripts = {
  write: fencedScript<number>(import.meta.url, 'links-write'),
  recordTimes: fencedScript<number>(import.meta.url, 'links-record-times'),
  remove: fencedScript<LinkVersions>(import.meta.url, 'links-remove'),
  flip: fencedScript<number>(import.meta.url, 'links-flip'),
  unlink: fencedScript<number>(import.meta.url, 'fenced-unlink'),
};

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
  layoutVersion: number;
  buckets: number;
  /** Another one after each change of any link; null before the first. */
  version: string | null;
}

/** When the item of a link is, and by which fingerprint it is known. */
type LinkTime = Pick<Link, 'recordId' | 'fingerprint' | 'startAt' | 'endAt'>;

/** Up to where the links of a target were read. */
export interface LinkCursor {
  layoutVersion: number;
  bucket: number;
  /** The last record of that bucket that was given. */
  after: string;
}

/** Some links of a target, and up to where they were read; null: there are no more. */
export interface LinkPage {
  links: Link[];
  next: LinkCursor | null;
}

/** The link tables of one tenant. */
export interface LinkStore {
  /** All links of a target by record id. The same map as before while none has changed. */
  read(target: string): Promise<ReadonlyMap<string, Link>>;
  /** Those of the given records that have one. */
  readSome(target: string, recordIds: readonly string[]): Promise<Map<string, Link>>;
  /**
   * Some links after a place, in an order of the table's own. Those that are there from the first page to the last come once each.
   * @param cursor null for the first page
   * @throws MirrorError `conflict`, code `cursor-expired`, when the table was laid out anew since that place was given
   */
  page(target: string, cursor: LinkCursor | null, limit: number): Promise<LinkPage>;
  count(target: string): Promise<number>;
  /** Those that say that a person touched their object. */
  drifted(target: string): Promise<Link[]>;
  /**
   * Names the records whose links carry drift, or are about to: before the links are written, so that none is ever missed.
   * Names of links that carry none any more do no harm, and go with the next call.
   */
  nameDrifted(target: string, recordIds: ReadonlySet<string>): Promise<void>;
  /** Records that were written while a change feed was followed and that no reading has shown since, by the time of the write. */
  unseen(target: string): Promise<Map<string, Instant>>;
  recordSeen(target: string, recordIds: Iterable<string>): Promise<void>;
  /** Takes records out of what is noted of drift, unseen writes and removals; links stay. @returns how many notes there were */
  erase(target: string, recordIds: readonly string[]): Promise<number>;
  /** Writes links in bulk, as adoption does. Fenced. */
  writeAll(target: string, links: readonly Link[], lease: Lease): Promise<void>;
  /** Notes the times of records whose objects are as they were: in links that still have that fingerprint. Fenced. */
  recordTimes(target: string, links: readonly LinkTime[], lease: Lease): Promise<void>;
  /** Removes links whose records left the window. Fenced. */
  release(target: string, recordIds: readonly string[], lease: Lease): Promise<void>;
  /** Removes every link of a target whose calendar was replaced. */
  clear(target: string, lease: Lease): Promise<void>;
  /** Whether so many links would crowd the table. */
  isCrowded(target: string, expected: number): Promise<boolean>;
  /** Lays the table out for this many links when it is crowded; both writers must be kept out meanwhile. */
  fit(target: string, expected: number, lease: Lease): Promise<void>;
  /**
   * Takes note of a change that a script of others made: whoever has read the links need not read them again for it.
   * @param stored by record id: links as they are stored, '' for one that is gone
   */
  recordChange(target: string, versions: LinkVersions, stored: ReadonlyMap<string, string>): void;
  /** Key of the bucket that holds a record's link, for scripts that write links with other things. */
  bucketKey(target: string, layout: LinkLayout, recordId: string): string;
  /** A link as it is stored there. */
  encoded(target: string, link: Link): string;
  layout(target: string): Promise<LinkLayout>;
}

/** What a writer calls one change of a link table. */
export function changeName(): string {
  return randomBytes(6).toString('base64url');
}

/**
 * Opens the link tables of a tenant.
 * @param identityKey the installation's, 32 bytes, by which is proved where objects are
 * @param room for links that are kept until they change; by default none are
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
    // What changed while it was read has given the table another version by now.
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
    await pipeline.exec();
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

  async recordTimes(target: string, links: readonly LinkTime[], lease: Lease): Promise<void> {
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
    // Some buckets at a time: what is decoded in one go keeps everybody else waiting.
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

  /** The first keys of a script that changes links. */
  #keysOf(target: string, lease: Lease): KeyIndex {
    return new KeyIndex(lease.key, keys.linksMeta(this.#tenant, target));
  }

  /** Runs a script that changes links. */
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

  /** Writes a new generation beside the old one, then flips to it: a reader sees one or the other whole. */
  async #replace(target: string, links: readonly Link[], buckets: number, lease: Lease): Promise<void> {
    const before = await this.layout(target);
    const after = { ...before, layoutVersion: before.layoutVersion + 1, buckets };
    // A process that died before its flip left part of a table under the same names.
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
