import { createHash, randomBytes } from 'node:crypto';
import { type Clock, DAY_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';

/** How long a session lasts: from its beginning, and from when it was last used. */
export interface SessionLife {
  mostMs: number;
  idleMs: number;
}

/** Sessions of browsers. `Who` is plain data. */
export interface SessionStore<Who> {
  /** Begins one. @param account by which all of a person's can be ended. @returns 256 random bits, which the browser keeps */
  begin(account: string, who: Who, life: SessionLife): Promise<string>;
  /** Whose it is, and uses it; null for none, or one that is over. */
  use(session: string, life: SessionLife): Promise<Who | null>;
  /** Whose it is, without using it: it ends no later for being looked at. */
  look(session: string, life: SessionLife): Promise<Who | null>;
  end(session: string): Promise<void>;
  /** Ends all of an account's that there are. */
  endAll(account: string): Promise<void>;
}

/** Longer than any session can last (`operator.access.sessionHours`). */
const LONGEST_MS = 8 * DAY_MS;

interface Stored<Who> {
  account: string;
  who: Who;
  beganAt: Instant;
  /** What was noted at its beginning of the account's: another one now means that all were ended. */
  era: string;
}

/** Opens the sessions of an installation: kept by a hash of what the browser holds, sealed, since they tell who somebody is. */
export function createSessionStore<Who>(redis: RedisClient, sealer: Sealer, clock: Clock): SessionStore<Who> {
  const keyOf = (session: string) => keys.session(hashOf(session));
  const eraOf = async (account: string) => (await redis.get(keys.sessionsEra(hashOf(account)))) ?? '';
  async function look(session: string, { mostMs }: SessionLife): Promise<Who | null> {
    const key = keyOf(session);
    const sealed = await redis.get(key);
    if (sealed === null) return null;
    const { account, who, beganAt, era } = JSON.parse(sealer.open(sealed, key)) as Stored<Who>;
    const isOver = clock() >= beganAt + mostMs || era !== (await eraOf(account));
    if (isOver) await redis.del(key);
    return isOver ? null : who;
  }
  return {
    async begin(account, who, { idleMs }) {
      const session = randomBytes(32).toString('base64url');
      const era = await eraOf(account);
      await redis.pexpire(keys.sessionsEra(hashOf(account)), LONGEST_MS);
      const stored: Stored<Who> = { account, who, beganAt: clock(), era };
      const key = keyOf(session);
      await redis.set(key, sealer.seal(JSON.stringify(stored), key), 'PX', idleMs);
      return session;
    },
    look,
    async use(session, life) {
      const who = await look(session, life);
      // One that was ended meanwhile is not there any more, and stays so.
      return who !== null && (await redis.pexpire(keyOf(session), life.idleMs)) === 1 ? who : null;
    },
    async end(session) {
      await redis.del(keyOf(session));
    },
    async endAll(account) {
      const era = randomBytes(16).toString('base64url');
      await redis.set(keys.sessionsEra(hashOf(account)), era, 'PX', LONGEST_MS);
    },
  };
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
