import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { AccessLevel } from '../model/acts.ts';
import { type Clock, DAY_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { type Counted, countOne } from './script.ts';
import type { Sealer } from './sealing.ts';
import { sealedTable, sealedValue } from './sealing.ts';

/** Counts by whoever it is that asks, which all processes share. */
export interface CallerCounts {
  /** Counts one of theirs. @param most that are let through in a window */
  count(who: string, most: number): Promise<Counted>;
  /** Begins anew with theirs. */
  clear(who: string): Promise<void>;
}

/** What is counted of whoever wants in, and of who is in. */
export interface AccessCounts {
  /** Tries to sign in, within a quarter of an hour. */
  attempts: CallerCounts;
  /** Requests for pages and of the API, within a minute. */
  requests: CallerCounts;
}

/** Opens the counts. @param nameOf a name for whoever it is that tells nothing */
export function createAccessCounts(redis: RedisClient, nameOf: (who: string) => string): AccessCounts {
  const countsOf = (keyOf: (name: string) => string, windowMs: number): CallerCounts => ({
    count: (who, most) => countOne(redis, windowMs, [{ key: keyOf(nameOf(who)), most }]),
    async clear(who) {
      await redis.del(keyOf(nameOf(who)));
    },
  });
  return {
    attempts: countsOf(keys.signInAttempts, 15 * MINUTE_MS),
    requests: countsOf(keys.requests, MINUTE_MS),
  };
}

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

/** So that whoever finds one, people and programs that look for leaked secrets, knows what it is: `cmt_<name>_<secret>`. */
const SHOWN = /^cmt_([a-z0-9-]+)_([\w-]{43})$/;

/** The tokens of an installation. */
export type AccessTokenStore = ReturnType<typeof createAccessTokenStore>;

/** Opens the tokens: of each its hash is kept, and who can write into Redis alone makes none. */
export function createAccessTokenStore(redis: RedisClient, sealer: Sealer, clock: Clock) {
  type Stored = AccessToken & { hash: string };
  const stored = sealedTable<Stored>(keys.accessTokens(), { redis, sealer, throwsForged: true });
  /** By name; those that ended are gone. */
  async function list(): Promise<AccessToken[]> {
    const all = await stored.prune(({ endsAt }) => endsAt <= clock());
    return [...all.values()]
      .map(({ hash: _, ...token }) => token)
      .sort((one, other) => one.name.localeCompare(other.name));
  }
  return {
    list,
    /** Makes one. @returns what its holder shows, told nowhere else; null when there is one of that name */
    async make(token: AccessToken): Promise<string | null> {
      // A name whose token ended is free again.
      await list();
      const secret = randomBytes(32).toString('base64url');
      const isNew = await stored.add(token.name, { ...token, hash: digestOf(secret) });
      return isNew ? `cmt_${token.name}_${secret}` : null;
    },
    /** The token that is shown; null for none, or one that ended. */
    async find(shown: string): Promise<AccessToken | null> {
      const [, name = '', secret = ''] = SHOWN.exec(shown) ?? [];
      const found = name === '' ? null : await stored.get(name);
      if (found === null) return null;
      const { hash: existing, ...token } = found;
      const isRight = timingSafeEqual(Buffer.from(digestOf(secret)), Buffer.from(existing));
      return isRight && clock() < token.endsAt ? token : null;
    },
    /** @returns whether there was one */
    revoke: async (name: string) => (await stored.remove([name])) === 1,
  };
}

/** How long a session lasts: from its beginning, and from when it was last used. */
export interface SessionLife {
  mostMs: number;
  idleMs: number;
}

/** Longer than any session can last (`operator.access.sessionHours`). */
const LONGEST_MS = 8 * DAY_MS;

interface StoredSession<Who> {
  account: string;
  who: Who;
  beganAt: Instant;
  /** What was noted at its beginning of the account's: another one now means that all were ended. */
  era: string;
}

/** Sessions of browsers. `Who` is plain data. */
export type SessionStore<Who> = ReturnType<typeof createSessionStore<Who>>;

/** Opens the sessions of an installation: kept by a hash of what the browser holds, sealed, since they tell who somebody is. */
export function createSessionStore<Who>(redis: RedisClient, sealer: Sealer, clock: Clock) {
  const keyOf = (session: string) => keys.session(digestOf(session));
  const storedAt = (key: string) => sealedValue<StoredSession<Who>>(key, { redis, sealer, throwsForged: true });
  const eraOf = async (account: string) => (await redis.get(keys.sessionsEra(digestOf(account)))) ?? '';
  /** Whose it is, without using it: it ends no later for being looked at. */
  async function look(session: string, { mostMs }: SessionLife): Promise<Who | null> {
    const stored = await storedAt(keyOf(session)).get();
    if (stored === null) return null;
    const { account, who, beganAt, era } = stored;
    const isOver = clock() >= beganAt + mostMs || era !== (await eraOf(account));
    if (isOver) await redis.del(keyOf(session));
    return isOver ? null : who;
  }
  return {
    look,
    /** Begins one. @param account by which all of a person's can be ended. @returns 256 random bits, which the browser keeps */
    async begin(account: string, who: Who, { idleMs }: SessionLife): Promise<string> {
      const session = randomBytes(32).toString('base64url');
      const era = await eraOf(account);
      await redis.pexpire(keys.sessionsEra(digestOf(account)), LONGEST_MS);
      await storedAt(keyOf(session)).setFor(idleMs, { account, who, beganAt: clock(), era });
      return session;
    },
    /** Whose it is, and uses it; null for none, or one that is over. */
    async use(session: string, life: SessionLife): Promise<Who | null> {
      const who = await look(session, life);
      // One that was ended meanwhile is not there any more, and stays so.
      return who !== null && (await redis.pexpire(keyOf(session), life.idleMs)) === 1 ? who : null;
    },
    async end(session: string): Promise<void> {
      await redis.del(keyOf(session));
    },
    /** Ends all of an account's that there are. */
    async endAll(account: string): Promise<void> {
      const era = randomBytes(16).toString('base64url');
      await redis.set(keys.sessionsEra(digestOf(account)), era, 'PX', LONGEST_MS);
    },
  };
}

/** To which account of a provider (its `sub`) an address belongs: the first one that signed in with it, verified. */
export type AccountRegistry = ReturnType<typeof createAccountRegistry>;

/** Opens what is known of accounts, sealed at its place. Addresses are kept as hashes. */
export function createAccountRegistry(redis: RedisClient, sealer: Sealer) {
  const subjects = sealedTable<string>(keys.knownAccounts(), { redis, sealer, throwsForged: true });
  const fieldOf = (issuer: string, address: string) => digestOf(JSON.stringify([issuer, address]));
  return {
    /** Accounts of those addresses that belong to one. @param addresses in small letters */
    async ofAddresses(issuer: string, addresses: readonly string[]): Promise<Map<string, string>> {
      const byField = new Map(addresses.map((address) => [fieldOf(issuer, address), address]));
      const existing = await subjects.some([...byField.keys()]);
      return new Map(Array.from(existing, ([field, subject]) => [byField.get(field) ?? '', subject]));
    },
    /** Gives an address to an account, unless it belongs to one. @returns whose it is now */
    async claim(issuer: string, address: string, subject: string): Promise<string> {
      const field = fieldOf(issuer, address);
      return (await subjects.add(field, subject)) ? subject : ((await subjects.get(field)) ?? '');
    },
    /** The next account that signs in with it gets it. @returns whether it belonged to one */
    release: async (issuer: string, address: string) => (await subjects.remove([fieldOf(issuer, address)])) === 1,
  };
}

/** What a guess costs, by the parameters of scrypt (RFC 7914). */
export interface HashCost {
  N: number;
  r: number;
  p: number;
}

/** 32 MB and a tenth of a second (OWASP Password Storage Cheat Sheet, scrypt: N 2^15, r 8, p 3). */
const COST: HashCost = { N: 2 ** 15, r: 8, p: 3 };
/** What Node must allow for it: 128 bytes × N × r, and a little. */
const MAX_MEMORY_BYTES = 64 * 2 ** 20;
const HASH_BYTES = 32;

interface StoredPassphrase {
  salt: string;
  hash: string;
  cost: HashCost;
}

/** The passphrase of the owner, of which a hash is kept. */
export type PassphraseStore = ReturnType<typeof createPassphraseStore>;

/** Opens what is kept of the passphrase; who can write into Redis alone sets none. @param ownCost of what is set from now on */
export function createPassphraseStore(redis: RedisClient, sealer: Sealer, ownCost: HashCost = COST) {
  const key = keys.passphrase();
  const stored = sealedValue<StoredPassphrase>(key, { redis, sealer, throwsForged: true });
  return {
    isSet: async () => (await redis.exists(key)) === 1,
    /** False too where none was set. */
    async fits(passphrase: string): Promise<boolean> {
      const existing = await stored.get();
      if (existing === null) return false;
      const presentedHash = await costlyHashOf(passphrase, Buffer.from(existing.salt, 'base64url'), existing.cost);
      return timingSafeEqual(presentedHash, Buffer.from(existing.hash, 'base64url'));
    },
    async set(passphrase: string): Promise<void> {
      const salt = randomBytes(16);
      const costly = await costlyHashOf(passphrase, salt, ownCost);
      await stored.set({ salt: salt.toString('base64url'), hash: costly.toString('base64url'), cost: ownCost });
    },
  };
}

/** However it was typed: the same letters may be written in several ways (NFKC, as NIST SP 800-63B-4 section 3.1.1.2 asks). */
function costlyHashOf(passphrase: string, salt: Buffer, cost: HashCost): Promise<Buffer> {
  const text = passphrase.normalize('NFKC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, HASH_BYTES, { ...cost, maxmem: MAX_MEMORY_BYTES }, (error, costly) =>
      error === null ? resolve(costly) : reject(error),
    );
  });
}

function digestOf(text: string): string {
  return hash('sha256', text, 'base64url');
}
