import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { AccessLevel } from '../model/access.ts';
import type { Clock, Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';

/** A token for programs that call the API. */
export interface AccessToken {
  name: string;
  level: AccessLevel;
  /** Null for all. */
  tenants: readonly string[] | null;
  /** Who made it, as the system calls them. */
  by: string;
  madeAt: Instant;
  endsAt: Instant;
}

/** The tokens of an installation. */
export interface AccessTokenStore {
  /** Makes one. @returns what its holder shows, told nowhere else; null when there is one of that name */
  make(token: AccessToken): Promise<string | null>;
  /** The token that is shown; null for none, or one that ended. */
  find(shown: string): Promise<AccessToken | null>;
  /** By name; those that ended are gone. */
  list(): Promise<AccessToken[]>;
  /** @returns whether there was one */
  revoke(name: string): Promise<boolean>;
}

/** So that whoever finds one, people and programs that look for leaked secrets, knows what it is: `cmt_<name>_<secret>`. */
const SHOWN = /^cmt_([a-z0-9-]+)_([\w-]{43})$/;

interface Stored extends AccessToken {
  hash: string;
}

/** Opens the tokens: of each its hash is kept, and who can write into Redis alone makes none. */
export function createAccessTokenStore(redis: RedisClient, sealer: Sealer, clock: Clock): AccessTokenStore {
  const table = keys.accessTokens();
  const contextOf = (name: string) => `${table} ${name}`;
  const opened = (name: string, sealed: string) => JSON.parse(sealer.open(sealed, contextOf(name))) as Stored;
  const list = async () => {
    const all = Object.entries(await redis.hgetall(table)).map(([name, sealed]) => opened(name, sealed));
    const over = all.filter(({ endsAt }) => endsAt <= clock());
    if (over.length > 0) await redis.hdel(table, ...over.map(({ name }) => name));
    return all
      .filter((token) => !over.includes(token))
      .map(({ hash: _, ...token }): AccessToken => token)
      .sort((one, other) => one.name.localeCompare(other.name));
  };
  return {
    list,
    async make(token) {
      // A name whose token ended is free again.
      await list();
      const secret = randomBytes(32).toString('base64url');
      const { name } = token;
      const stored: Stored = { ...token, hash: digestOf(secret).toString('base64url') };
      const isNew = await redis.hsetnx(table, name, sealer.seal(JSON.stringify(stored), contextOf(name)));
      return isNew === 1 ? `cmt_${name}_${secret}` : null;
    },
    async find(shown) {
      const [, name, secret] = SHOWN.exec(shown) ?? [];
      if (name === undefined || secret === undefined) return null;
      const sealed = await redis.hget(table, name);
      if (sealed === null) return null;
      const { hash, ...token } = opened(name, sealed);
      const isRight = timingSafeEqual(digestOf(secret), Buffer.from(hash, 'base64url'));
      return isRight && clock() < token.endsAt ? token : null;
    },
    revoke: async (name) => (await redis.hdel(table, name)) === 1,
  };
}

function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
