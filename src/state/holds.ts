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
  /** Makes the open hold of this target and kind cover exactly these records; none closes it. One that is being decided stays. */
  cover(target: string, kind: Hold['kind'], recordIds: readonly string[], context: HoldContext): Promise<Hold | null>;
  /**
   * @param items how many a person saw in it; null when nobody counted
   * @throws MirrorError `settings`, code `no-such-hold`, `hold-decided`, or `hold-changed` when it holds another number by now
   */
  decide(
    id: string,
    state: 'approved' | 'rejected',
    now: Instant,
    expiresAt: Instant,
    items?: number | null,
  ): Promise<Hold>;
  /**
   * Rejects open holds that expired and forgets decisions that did. A first run, or a hold of people, that nobody decided is forgotten too, so that the
   * next plan asks for it again. @returns the holds that were rejected so
   */
  expire(now: Instant, rejectionExpiresAt: Instant): Promise<Hold[]>;
  /** Takes records of a target out of its holds, decided ones too; a hold without any ends. @returns how many places they stood in */
  forget(target: string, recordIds: ReadonlySet<string>): Promise<number>;
}

/** What a new or changed hold is stamped with. */
export interface HoldContext {
  linkCount: number;
  now: Instant;
  expiresAt: Instant;
}

// Changes a hold only if it is still as it was read: a plan and a person may come at once. KEYS: holds. ARGV: id, as read, new or ''.
const CHANGE = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1`;

/** Opens the holds of a tenant. */
export function createHoldStore(redis: RedisClient, tenant: string): HoldStore {
  const key = keys.holds(tenant);
  const list = async () => Object.values(await redis.hgetall(key)).map((value) => JSON.parse(value) as Hold);
  const change = (before: Hold, next: Hold | null) => changeHold(redis, key, before, next);
  /** Tries again when a plan or a person changed the hold meanwhile. */
  const withoutRecords = async (id: string, forgotten: ReadonlySet<string>): Promise<number> => {
    for (;;) {
      const value = await redis.hget(key, id);
      if (value === null) return 0;
      const hold = JSON.parse(value) as Hold;
      const recordIds = hold.recordIds.filter((recordId) => !forgotten.has(recordId));
      const removed = hold.recordIds.length - recordIds.length;
      if (removed === 0 || (await change(hold, recordIds.length === 0 ? null : { ...hold, recordIds }))) return removed;
    }
  };
  return {
    list,
    async cover(target, kind, recordIds, { linkCount, now, expiresAt }) {
      const open = (await list()).find((hold) => hold.target === target && hold.kind === kind && hold.state === 'open');
      if (recordIds.length === 0) {
        if (open !== undefined) await change(open, null);
        return null;
      }
      if (open !== undefined) {
        const grown = { ...open, recordIds, linkCount };
        return (await change(open, grown)) ? grown : null;
      }
      const stamped = { createdAt: now, decidedAt: null, expiresAt };
      const born: Hold = { id: newId(), target, kind, state: 'open', ...stamped, recordIds, linkCount };
      await redis.hset(key, born.id, JSON.stringify(born));
      return born;
    },
    async decide(id, state, now, expiresAt, items = null) {
      for (;;) {
        const value = await redis.hget(key, id);
        if (value === null) throw holdError('no-such-hold', `there is no hold "${id}"`);
        const hold = JSON.parse(value) as Hold;
        if (hold.state !== 'open') throw holdError('hold-decided', `the hold "${id}" was ${hold.state} already`);
        const count = hold.recordIds.length;
        if (items !== null && items !== count) {
          throw holdError('hold-changed', `the hold "${id}" has ${count} items now, not ${items}`);
        }
        const decided: Hold = { ...hold, state, decidedAt: now, expiresAt };
        if (await change(hold, decided)) return decided;
      }
    },
    async expire(now, rejectionExpiresAt) {
      const expired: Hold[] = [];
      for (const hold of await list()) {
        if (hold.expiresAt > now) continue;
        if (hold.state !== 'open' || hold.kind === 'first-run' || hold.kind === 'people') {
          await change(hold, null);
          continue;
        }
        const rejected: Hold = { ...hold, state: 'rejected', decidedAt: now, expiresAt: rejectionExpiresAt };
        if (await change(hold, rejected)) expired.push(rejected);
      }
      return expired;
    },
    async forget(target, forgotten) {
      let removed = 0;
      for (const { id } of (await list()).filter((hold) => hold.target === target)) {
        removed += await withoutRecords(id, forgotten);
      }
      return removed;
    },
  };
}

/** @param next null to forget it. @returns false when the hold was changed meanwhile */
async function changeHold(redis: RedisClient, key: string, before: Hold, next: Hold | null): Promise<boolean> {
  const written = next === null ? '' : JSON.stringify(next);
  return (await redis.eval(CHANGE, 1, key, before.id, JSON.stringify(before), written)) === 1;
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
