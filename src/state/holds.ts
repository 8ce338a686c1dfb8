import { randomInt } from 'node:crypto';
import { MirrorError } from '../model/errors.ts';
import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Letters and digits that can't be mistaken for one another when read aloud. */
const ID_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const ID_LENGTH = 5;

/** The holds of one tenant. At most one open hold per target and kind. */
export interface HoldStore {
  list(): Promise<Hold[]>;
  /** Makes the open hold of this target and kind cover exactly these records; none closes it. */
  cover(target: string, kind: Hold['kind'], recordIds: readonly string[], context: HoldContext): Promise<Hold | null>;
  /** @throws MirrorError `settings`, code `no-such-hold` or `hold-decided` */
  decide(id: string, state: 'approved' | 'rejected', now: Instant, expiresAt: Instant): Promise<Hold>;
  /** Rejects open holds that expired and forgets decisions that did. @returns the holds that were rejected so */
  expire(now: Instant, rejectionExpiresAt: Instant): Promise<Hold[]>;
}

/** What a new or changed hold is stamped with. */
export interface HoldContext {
  linkCount: number;
  now: Instant;
  expiresAt: Instant;
}

/** Opens the holds of a tenant. */
export function createHoldStore(redis: RedisClient, tenant: string): HoldStore {
  const key = keys.holds(tenant);
  const list = async () => Object.values(await redis.hgetall(key)).map((value) => JSON.parse(value) as Hold);
  const save = async (hold: Hold) => {
    await redis.hset(key, hold.id, JSON.stringify(hold));
    return hold;
  };
  return {
    list,
    async cover(target, kind, recordIds, { linkCount, now, expiresAt }) {
      const open = (await list()).find((hold) => hold.target === target && hold.kind === kind && hold.state === 'open');
      if (recordIds.length === 0) {
        if (open !== undefined) await redis.hdel(key, open.id);
        return null;
      }
      const born = { id: newId(), target, kind, state: 'open', createdAt: now, decidedAt: null, expiresAt } as const;
      return save({ ...(open ?? born), recordIds, linkCount });
    },
    async decide(id, state, now, expiresAt) {
      const value = await redis.hget(key, id);
      if (value === null) throw holdError('no-such-hold', `there is no hold "${id}"`);
      const hold = JSON.parse(value) as Hold;
      if (hold.state !== 'open') throw holdError('hold-decided', `the hold "${id}" was ${hold.state} already`);
      return save({ ...hold, state, decidedAt: now, expiresAt });
    },
    async expire(now, rejectionExpiresAt) {
      const expired: Hold[] = [];
      for (const hold of await list()) {
        if (hold.expiresAt > now) continue;
        if (hold.state !== 'open') await redis.hdel(key, hold.id);
        else expired.push(await save({ ...hold, state: 'rejected', decidedAt: now, expiresAt: rejectionExpiresAt }));
      }
      return expired;
    },
  };
}

function newId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join('');
}

function holdError(code: string, message: string): MirrorError {
  return new MirrorError(message, {
    actor: 'settings',
    code,
    retry: 'never',
    remedy: 'see "clinic-mirror holds list"',
  });
}
