import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { clientShares } from '../../core/model/client-shares.ts';
import type { FeedEntry, FeedStore, StoodThere } from '../../core/model/feeds.ts';
import { derivedKey } from '../../core/model/hashes.ts';
import type { FeedAccess } from '../../core/model/state-schemas.ts';
import { type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { openNumber, openPlain } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { countOne, increase, redisScript } from '../../state/script.ts';
import { openSealed, type Sealer } from '../../state/sealing.ts';
import { feedKeys } from './keys.ts';

const changeFeed = redisScript<StoodThere>(import.meta.url, 'feed-change');

/** Field of the version in the hash of a feed, next to entries with names of 32 characters. */
const VERSION = 'version';

/** Feeds of one tenant: content and access. */
export interface TenantFeeds {
  feedStore(target: string): FeedStore;
  /** Null for a feed without a URL. */
  access(target: string): Promise<FeedAccess | null>;
  /** Creates a new URL and ends the previous URL. @returns the token, which is not stored */
  rotate(target: string, now: Instant): Promise<string>;
  /** Ends a feed's URL. @returns whether the feed had a URL */
  withdraw(target: string): Promise<boolean>;
  /** Returns whether a token is the feed's current token and was created with this identity key. */
  isCurrent(target: string, token: string): Promise<boolean>;
  recordFetch(target: string, now: Instant): Promise<void>;
}

declare module '../../tenant/tenant.ts' {
  interface OpenTenant {
    feeds: TenantFeeds;
  }
}

/** Feeds of all tenants by hash of their tokens: a reader of Redis cannot use the URLs. */
export interface FeedDirectory {
  find(token: string): Promise<{ tenant: string; target: string } | null>;
  /**
   * Counts a request in this minute for its token and its caller.
   * @returns false if a limit is exceeded
   */
  admit(token: string, caller: string, now: Instant): Promise<boolean>;
}

/** A program fetches every few minutes at most, and several users may share an IP; a guessing attacker uses each token once. */
const PER_TOKEN = 30;
const PER_CALLER = 60;
const TOKEN_BYTES = 32;

export function createTenantFeeds(
  redis: RedisClient,
  tenant: string,
  sealer: Sealer,
  identityKey: Uint8Array,
): TenantFeeds {
  const key = derivedKey(identityKey, tenant, 'feed addresses');
  // Proof by the identity key, so that an attacker with mere write access to Redis cannot create URLs.
  const proofOf = (target: string, token: string) =>
    createHmac('sha256', key()).update(`${target} ${token}`).digest('base64url');
  async function withdraw(target: string): Promise<boolean> {
    const hash = await redis.hget(feedKeys.feedAccess(tenant, target), 'hash');
    if (hash === null) return false;
    await redis.del(feedKeys.feedAccess(tenant, target));
    await redis.del(feedKeys.feedToken(hash));
    return true;
  }
  return {
    feedStore: (target) => createTargetFeedStore(redis, feedKeys.feed(tenant, target), sealer, target),
    async access(target) {
      const { madeAt, fetchedAt, fetches } = await redis.hgetall(feedKeys.feedAccess(tenant, target));
      if (madeAt === undefined) return null;
      const number = (stored: string | undefined) => openNumber(stored, { owner: tenant, kind: 'feed-access' });
      return { madeAt: number(madeAt) ?? 0, fetchedAt: number(fetchedAt), fetches: number(fetches) ?? 0 };
    },
    async rotate(target, now) {
      await withdraw(target);
      const token = randomBytes(TOKEN_BYTES).toString('base64url');
      const hash = hashOf(token);
      const facts = { hash, proof: proofOf(target, token), madeAt: now, fetches: 0 };
      await redis.hset(feedKeys.feedAccess(tenant, target), facts);
      await redis.set(feedKeys.feedToken(hash), JSON.stringify({ tenant, target }));
      return token;
    },
    withdraw,
    async isCurrent(target, token) {
      const proof = Buffer.from((await redis.hget(feedKeys.feedAccess(tenant, target), 'proof')) ?? '');
      const expected = Buffer.from(proofOf(target, token));
      return proof.length === expected.length && timingSafeEqual(proof, expected);
    },
    async recordFetch(target, now) {
      await redis.hset(feedKeys.feedAccess(tenant, target), 'fetchedAt', now);
      await increase(redis, feedKeys.feedAccess(tenant, target), [['fetches', 1]]);
    },
  };
}

function createTargetFeedStore(redis: RedisClient, feedKey: string, sealer: Sealer, target: string): FeedStore {
  const contextOf = (key: string) => `feed/${target}/${key}`;
  function opened(key: string, stored: string): FeedEntry {
    const at = stored.indexOf(' ');
    const entry = openSealed(sealer, stored.slice(at + 1), contextOf(key), 'feeds') as Omit<FeedEntry, 'revision'>;
    return { ...entry, revision: Number(stored.slice(0, at)) };
  }
  return {
    async entries(wanted) {
      if (wanted?.length === 0) return new Map();
      const found =
        wanted === undefined
          ? Object.entries(await redis.hgetall(feedKey))
          : (await redis.hmget(feedKey, ...wanted)).map((stored, index) => [wanted[index] ?? '', stored] as const);
      return new Map(
        found.flatMap(([key, stored]) =>
          stored === null || key === VERSION ? [] : [[key, opened(key, stored)] as const],
        ),
      );
    },
    put: (key, { revision, ...entry }) =>
      changeFeed(redis, [feedKey], [key, revision, sealer.seal(JSON.stringify(entry), contextOf(key))]),
    takeOut: (key, revision) => changeFeed(redis, [feedKey], [key, revision, '']),
    version: async () => (await redis.hget(feedKey, VERSION)) ?? '0',
  };
}

const feedToken = z.object({ tenant: z.string(), target: z.string() });

export function createFeedDirectory(redis: RedisClient): FeedDirectory {
  const isWithin = async (name: string, now: Instant, most: number) => {
    const key = feedKeys.feedMinute(name, Math.floor(now / MINUTE_MS));
    return (await countOne(redis, 2 * MINUTE_MS, [{ key, most }])).waitMs === null;
  };
  return {
    async find(token) {
      return openPlain(
        await redis.get(feedKeys.feedToken(hashOf(token))),
        { owner: '{feeds}', kind: 'feeds' },
        feedToken,
      );
    },
    async admit(token, caller, now) {
      for (const { name, most } of clientShares(caller, PER_CALLER)) {
        if (!(await isWithin(`by-${hashOf(name)}`, now, most))) return false;
      }
      return isWithin(hashOf(token), now, PER_TOKEN);
    },
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
