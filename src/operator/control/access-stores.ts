import { hash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import type { AccessToken } from '../../core/model/acts.ts';
import { type Clock, DAY_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import type { RedisClient } from '../../state/redis.ts';
import { type Counted, countOne, keysLike } from '../../state/script.ts';
import type { Sealer } from '../../state/sealing.ts';
import { sealedTable, sealedValue } from '../../state/sealing.ts';
import { controlKeys } from './keys.ts';

/** Counters per caller, shared by all processes. */
export interface CallerCounts {
  /** Counts one request of a caller. @param most requests that are allowed in a window */
  count(who: string, most: number): Promise<Counted>;
  /** Resets the counter of a caller. */
  clear(who: string): Promise<void>;
}

/** Limits for sign-in and for signed-in callers. */
export interface AccessCounts {
  /** Sign-in attempts within a quarter of an hour. */
  attempts: CallerCounts;
  /** Requests for pages and the API within a minute. */
  requests: CallerCounts;
}

/** Opens the counters. @param nameOf returns a name that reveals no caller */
export function createAccessCounts(redis: RedisClient, nameOf: (who: string) => string): AccessCounts {
  const countsOf = (keyOf: (name: string) => string, windowMs: number): CallerCounts => ({
    count: (who, most) => countOne(redis, windowMs, [{ key: keyOf(nameOf(who)), most }]),
    async clear(who) {
      await redis.del(keyOf(nameOf(who)));
    },
  });
  return {
    attempts: countsOf(controlKeys.signInAttempts, 15 * MINUTE_MS),
    requests: countsOf(controlKeys.requests, MINUTE_MS),
  };
}

/** The form `cmt_<name>_<secret>` lets people and programs that search for leaked secrets recognise a token. */
const SHOWN = /^cmt_([a-z0-9-]+)_([\w-]{43})$/;

/** Access tokens of an installation. */
export type AccessTokenStore = ReturnType<typeof createAccessTokenStore>;

/** Opens the tokens. Only hashes are stored, and encryption prevents tokens by an attacker with mere write access to Redis. */
export function createAccessTokenStore(redis: RedisClient, sealer: Sealer, clock: Clock) {
  type Stored = AccessToken & { hash: string };
  const stored = sealedTable<Stored>(controlKeys.accessTokens(), { redis, sealer, kind: 'access' });
  /** Returns tokens by name, without expired tokens. */
  async function list(): Promise<AccessToken[]> {
    const all = await stored.prune(({ endsAt }) => endsAt <= clock());
    return [...all.values()]
      .map(({ hash: _, ...token }) => token)
      .sort((one, other) => one.name.localeCompare(other.name));
  }
  return {
    list,
    /** Creates a token. @returns the secret for the holder, not stored elsewhere; null if the name is in use */
    async make(token: AccessToken): Promise<string | null> {
      // The name of an expired token is available again.
      await list();
      const secret = randomBytes(32).toString('base64url');
      const isNew = await stored.add(token.name, { ...token, hash: digestOf(secret) });
      return isNew ? `cmt_${token.name}_${secret}` : null;
    },
    /** Returns the token of a secret; null if unknown or expired. */
    async find(shown: string): Promise<AccessToken | null> {
      const [, name = '', secret = ''] = SHOWN.exec(shown) ?? [];
      const found = name === '' ? null : await stored.get(name);
      if (found === null) return null;
      const { hash: existing, ...token } = found;
      const isRight = timingSafeEqual(Buffer.from(digestOf(secret)), Buffer.from(existing));
      return isRight && clock() < token.endsAt ? token : null;
    },
    /** @returns whether the token existed */
    revoke: async (name: string) => (await stored.remove([name])) === 1,
  };
}

/** Lifetime of a session: since its start, and since its last use. */
export interface SessionLife {
  mostMs: number;
  idleMs: number;
}

/** Longer than the longest session (`operator.access.sessionHours`). */
const LONGEST_MS = 8 * DAY_MS;

/** Browser of a session, for the user's list of own sessions. */
export interface SessionDevice {
  /** Network of the client, such as `192.0.2.0/24`; null if unknown. */
  network: string | null;
  /** Family of the browser; null if unknown. */
  browser: string | null;
}

/** Start of a session. */
interface SessionStart extends SessionDevice {
  /** When the user authenticated; 0 if unknown. */
  authenticatedAt: Instant;
}

/** An open session. */
export interface OpenSession<Who> extends SessionStart {
  account: string;
  who: Who;
  beganAt: Instant;
}

/** A session in a list. */
export interface ListedSession<Who> extends SessionDevice, Pick<OpenSession<Who>, 'account' | 'who' | 'beganAt'> {
  /** Hash of the browser's secret. */
  id: string;
  lastUsedAt: Instant;
}

interface StoredSession<Who> extends OpenSession<Who> {
  /** Era of the account when the session started: a different era means that all sessions were ended. */
  era: string;
}

/** Sessions of browsers. `Who` is plain data. */
export type SessionStore<Who> = ReturnType<typeof createSessionStore<Who>>;

/** Reads stored sessions; an ended session is removed. */
function createSessionReader<Who>(redis: RedisClient, sealer: Sealer, clock: Clock) {
  const storedAt = (key: string) => sealedValue<StoredSession<Who>>(key, { redis, sealer, kind: 'access' });
  const eraOf = async (account: string) => (await redis.get(controlKeys.sessionsEra(digestOf(account)))) ?? '';
  async function openAt(key: string, { mostMs }: SessionLife): Promise<OpenSession<Who> | null> {
    const stored = await storedAt(key).get();
    if (stored === null) return null;
    const { era, ...session } = stored;
    const isOver = clock() >= session.beganAt + mostMs || era !== (await eraOf(session.account));
    if (isOver) await redis.del(key);
    return isOver ? null : session;
  }
  return { storedAt, eraOf, openAt };
}

/** Lists sessions: of one account, or all. */
function createSessionLists<Who>(
  redis: RedisClient,
  clock: Clock,
  openAt: ReturnType<typeof createSessionReader<Who>>['openAt'],
) {
  /** Returns the open sessions with these ids, newest first. */
  async function listOf(ids: readonly string[], life: SessionLife): Promise<ListedSession<Who>[]> {
    const listed: ListedSession<Who>[] = [];
    for (const id of ids) {
      const session = await openAt(controlKeys.session(id), life);
      if (session === null) continue;
      const { account, who, beganAt, network, browser } = session;
      const unusedMs = Math.max(0, life.idleMs - (await redis.pttl(controlKeys.session(id))));
      const lastUsedAt = Math.max(beganAt, clock() - unusedMs);
      listed.push({ id, account, who, beganAt, lastUsedAt, network, browser });
    }
    return listed.sort((one, other) => other.beganAt - one.beganAt);
  }
  /** Returns the open sessions of an account, newest first. Ids of ended sessions are removed. */
  async function list(account: string, life: SessionLife): Promise<ListedSession<Who>[]> {
    const ids = await redis.smembers(controlKeys.sessionsOf(digestOf(account)));
    // The ids in Redis are not encrypted: another user's session is not listed.
    const own = (await listOf(ids, life)).filter((session) => session.account === account);
    const others = ids.filter((id) => own.every((session) => session.id !== id));
    if (others.length > 0) await redis.srem(controlKeys.sessionsOf(digestOf(account)), ...others);
    return own;
  }
  return {
    list,
    /** Returns every open session, newest first. Reads the names of all keys in Redis, so that no session can be missing in the list. */
    async listAll(life: SessionLife): Promise<ListedSession<Who>[]> {
      const ids = new Set<string>();
      for await (const key of keysLike(redis, controlKeys.session('*')))
        ids.add(key.slice(controlKeys.session('').length));
      return listOf([...ids], life);
    },
  };
}

/** Opens the sessions of an installation. Keys are hashes of the browsers' secrets; values are encrypted because they identify users. */
export function createSessionStore<Who>(redis: RedisClient, sealer: Sealer, clock: Clock) {
  const { storedAt, eraOf, openAt } = createSessionReader<Who>(redis, sealer, clock);
  const { list, listAll } = createSessionLists<Who>(redis, clock, openAt);
  const keyOf = (session: string) => controlKeys.session(sessionIdOf(session));
  /** Returns a session without extending the session; null if absent or expired. */
  const look = (session: string, life: SessionLife) => openAt(keyOf(session), life);
  return {
    look,
    list,
    listAll,
    /** Returns the id of a session in the list. */
    idOf: sessionIdOf,
    /**
     * Starts a session.
     * @param account account for ending all sessions of a user
     * @param start default: the user authenticated now, in an unknown browser
     * @returns 256 random bits, kept by the browser
     */
    async begin(account: string, who: Who, life: SessionLife, start: Partial<SessionStart> = {}): Promise<string> {
      const session = randomBytes(32).toString('base64url');
      const [era, beganAt] = [await eraOf(account), clock()];
      await redis.pexpire(controlKeys.sessionsEra(digestOf(account)), LONGEST_MS);
      const started = { authenticatedAt: beganAt, network: null, browser: null, ...start };
      await storedAt(keyOf(session)).setFor(life.idleMs, { account, who, beganAt, era, ...started });
      await list(account, life);
      await redis.sadd(controlKeys.sessionsOf(digestOf(account)), sessionIdOf(session));
      await redis.pexpire(controlKeys.sessionsOf(digestOf(account)), LONGEST_MS);
      return session;
    },
    /** Returns a session and extends the session; null if absent or expired. */
    async use(session: string, life: SessionLife): Promise<OpenSession<Who> | null> {
      const open = await look(session, life);
      // A session that was ended meanwhile is absent and stays absent.
      return open !== null && (await redis.pexpire(keyOf(session), life.idleMs)) === 1 ? open : null;
    },
    /** Ends sessions by their ids. */
    async endListed(ids: readonly string[]): Promise<void> {
      if (ids.length > 0) await redis.del(...ids.map(controlKeys.session));
    },
    async end(session: string): Promise<void> {
      await redis.del(keyOf(session));
    },
    /** Ends all sessions of an account. */
    async endAll(account: string): Promise<void> {
      const era = randomBytes(16).toString('base64url');
      await redis.set(controlKeys.sessionsEra(digestOf(account)), era, 'PX', LONGEST_MS);
    },
  };
}

/** Maps an e-mail address to an account of a provider (`sub`): the first account that signed in with the verified address. */
export type AccountRegistry = ReturnType<typeof createAccountRegistry>;

/** Opens the accounts, encrypted per field. E-mail addresses are stored as hashes. */
export function createAccountRegistry(redis: RedisClient, sealer: Sealer) {
  const subjects = sealedTable<string>(controlKeys.knownAccounts(), { redis, sealer, kind: 'access' });
  const fieldOf = (issuer: string, address: string) => digestOf(JSON.stringify([issuer, address]));
  return {
    /** Returns the accounts of known e-mail addresses. @param addresses in lower case */
    async ofAddresses(issuer: string, addresses: readonly string[]): Promise<Map<string, string>> {
      const byField = new Map(addresses.map((address) => [fieldOf(issuer, address), address]));
      const existing = await subjects.some([...byField.keys()]);
      return new Map(Array.from(existing, ([field, subject]) => [byField.get(field) ?? '', subject]));
    },
    /** Assigns an e-mail address to an account if unassigned. @returns the account of the address */
    async claim(issuer: string, address: string, subject: string): Promise<string> {
      const field = fieldOf(issuer, address);
      return (await subjects.add(field, subject)) ? subject : ((await subjects.get(field)) ?? '');
    },
    /** Frees the e-mail address for the next account. @returns whether the address was assigned */
    release: async (issuer: string, address: string) => (await subjects.remove([fieldOf(issuer, address)])) === 1,
  };
}

/** Cost of a guess, as parameters of scrypt (RFC 7914). */
export interface HashCost {
  N: number;
  r: number;
  p: number;
}

/** 32 MB and a tenth of a second (OWASP Password Storage Cheat Sheet, scrypt: N 2^15, r 8, p 3). */
const COST: HashCost = { N: 2 ** 15, r: 8, p: 3 };
/** Memory limit for Node: 128 bytes × N × r, plus a reserve. */
const MAX_MEMORY_BYTES = 64 * 2 ** 20;
const HASH_BYTES = 32;

interface StoredPassphrase {
  salt: string;
  hash: string;
  cost: HashCost;
}

/** Hash of the owner's passphrase. */
export type PassphraseStore = ReturnType<typeof createPassphraseStore>;

/** Opens the passphrase; an attacker with mere write access to Redis cannot set one. @param ownCost cost of new hashes */
export function createPassphraseStore(redis: RedisClient, sealer: Sealer, ownCost: HashCost = COST) {
  const key = controlKeys.passphrase();
  const stored = sealedValue<StoredPassphrase>(key, { redis, sealer, kind: 'access' });
  return {
    isSet: async () => (await redis.exists(key)) === 1,
    /** Also false if no passphrase is set. */
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

/** Normalizes the passphrase: equal letters have several encodings (NFKC, NIST SP 800-63B-4 section 3.1.1.2). */
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

/** Returns the id of a session. As hexadecimal digits: a command takes it, and an argument must not begin with a hyphen. */
function sessionIdOf(session: string): string {
  return hash('sha256', session, 'hex');
}
