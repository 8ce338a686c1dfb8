import { createHash, randomInt } from 'node:crypto';
import { MirrorError } from '../model/errors.ts';
import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet } from './script.ts';
import type { Sealer } from './sealing.ts';

/** Letters and digits that can't be mistaken for one another when read aloud. */
const ID_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const ID_LENGTH = 5;
const SEEN_LENGTH = 8;

/** The holds of one tenant. At most one open hold per target and kind. */
export interface HoldStore {
  list(): Promise<Hold[]>;
  /** Makes the open hold of this target and kind cover exactly these records; none closes it. One that is being decided stays. */
  cover(target: string, kind: Hold['kind'], recordIds: readonly string[], context: HoldContext): Promise<Hold | null>;
  /**
   * Decides a hold whole or in part: a part becomes a hold of its own, and what is not in it goes on waiting under the hold's id.
   * @returns the hold that was decided
   * @throws MirrorError `settings`, code `no-such-hold`, `hold-decided`, `hold-changed` when it does not hold what was seen by now, or
   *   `hold-whole-only`
   */
  decide(
    id: string,
    state: 'approved' | 'rejected',
    now: Instant,
    expiresAt: Instant,
    choice?: HoldChoice,
  ): Promise<Hold>;
  /**
   * Rejects open holds that expired and drops decisions that did. A first run, or a hold of people, that nobody decided is dropped too, so that the
   * next plan asks for it again. @returns the holds that were rejected so
   */
  expire(now: Instant, rejectionExpiresAt: Instant): Promise<Hold[]>;
  /** Takes out what we did not put in: it approves nothing, and the next plan asks anew. @returns how many */
  dropForged(): Promise<number>;
  /** Puts decisions of before back, unless they have expired or a hold of that id is there. @returns how many */
  putBack(decided: readonly Hold[], now: Instant): Promise<number>;
  /** Takes records of a target out of its holds, decided ones too; a hold without any ends. @returns how many places they stood in */
  erase(target: string, recordIds: ReadonlySet<string>): Promise<number>;
}

/** What a person saw of a hold, and chose of it. */
export interface HoldChoice {
  /** Its {@link seenCode} when they looked; absent, or null: as it is now. */
  seen?: string | null;
  /** Records that are decided; absent, or null: all of them. */
  only?: ReadonlySet<string> | null;
}

/** What a new or changed hold is stamped with. */
export interface HoldContext {
  linkCount: number;
  /** See `Hold`. */
  content?: string;
  now: Instant;
  expiresAt: Instant;
}

/** Opens the holds of a tenant. They are sealed, so that nobody who can write into Redis alone approves anything. */
export function createHoldStore(redis: RedisClient, tenant: string, sealer: Sealer): HoldStore {
  const { list, read, put, putIfAbsent, change, withoutRecords, dropForged } = sealedHolds(
    redis,
    keys.holds(tenant),
    sealer,
  );
  return {
    list: async () => (await list()).map(({ hold }) => hold),
    async cover(target, kind, recordIds, { now, expiresAt, ...seen }) {
      const open = (await list()).find(
        ({ hold }) => hold.target === target && hold.kind === kind && hold.state === 'open',
      );
      if (recordIds.length === 0) {
        if (open !== undefined) await change(open, null);
        return null;
      }
      if (open !== undefined) {
        const grown = { ...open.hold, recordIds, ...seen };
        return (await change(open, grown)) ? grown : null;
      }
      const stamped = { createdAt: now, decidedAt: null, expiresAt };
      const born: Hold = { id: newId(), target, kind, state: 'open', ...stamped, recordIds, ...seen };
      await put(born);
      return born;
    },
    async decide(id, state, now, expiresAt, choice = {}) {
      for (;;) {
        const before = await read(id);
        if (before === null) throw noSuchHold(id);
        const { hold } = before;
        const { chosen, rest } = partsOf(hold, choice);
        const decided: Hold = { ...hold, state, decidedAt: now, expiresAt };
        if (rest.length === 0) {
          if (await change(before, decided)) return decided;
          continue;
        }
        const part = { ...decided, id: newId(), partOf: id, recordIds: chosen };
        if (await change(before, { ...hold, recordIds: rest }, part)) return part;
      }
    },
    async expire(now, rejectionExpiresAt) {
      const expired: Hold[] = [];
      for (const before of await list()) {
        const { hold } = before;
        if (hold.expiresAt > now) continue;
        if (hold.state !== 'open' || hold.kind === 'first-run' || hold.kind === 'people') {
          await change(before, null);
          continue;
        }
        const rejected: Hold = { ...hold, state: 'rejected', decidedAt: now, expiresAt: rejectionExpiresAt };
        if (await change(before, rejected)) expired.push(rejected);
      }
      return expired;
    },
    dropForged,
    async putBack(decided, now) {
      const standing = decided.filter(({ state, expiresAt }) => state !== 'open' && expiresAt > now);
      const made = await Promise.all(standing.map(putIfAbsent));
      return made.filter(Boolean).length;
    },
    async erase(target, forgotten) {
      let removed = 0;
      for (const { hold } of (await list()).filter((one) => one.hold.target === target)) {
        removed += await withoutRecords(hold.id, forgotten);
      }
      return removed;
    },
  };
}

/** Holds as Redis has them under one key, sealed at their place. */
function sealedHolds(redis: RedisClient, key: string, sealer: Sealer) {
  const sealed = (hold: Hold) => sealer.seal(JSON.stringify(hold), sealContext(hold.id));
  const all = async () =>
    Object.entries(await redis.hgetall(key)).map(([id, value]) => ({ id, read: opened(sealer, id, value) }));
  const list = async () => (await all()).flatMap(({ read }) => readable(read) ?? []);
  /** @param next null to remove it. @param part of it, put in beside. @returns false when the hold was changed meanwhile */
  const change = async (before: Read, next: Hold | null, part?: Hold): Promise<boolean> => {
    const place = { key, field: before.hold.id };
    const written = [{ ...place, value: next === null ? null : sealed(next) }];
    if (part !== undefined) written.push({ key, field: part.id, value: sealed(part) });
    return (await compareAndSet(redis, [{ ...place, value: before.value }], written)) === null;
  };
  const read = async (id: string) => {
    const value = await redis.hget(key, id);
    return value === null ? null : readable(opened(sealer, id, value));
  };
  /** Tries again when a plan or a person changed the hold meanwhile. */
  const withoutRecords = async (id: string, forgotten: ReadonlySet<string>): Promise<number> => {
    for (;;) {
      const before = await read(id);
      if (before === null) return 0;
      const { hold } = before;
      const recordIds = hold.recordIds.filter((recordId) => !forgotten.has(recordId));
      const removed = hold.recordIds.length - recordIds.length;
      if (removed === 0 || (await change(before, recordIds.length === 0 ? null : { ...hold, recordIds })))
        return removed;
    }
  };
  return {
    list,
    read,
    put: (hold: Hold) => redis.hset(key, hold.id, sealed(hold)),
    putIfAbsent: async (hold: Hold) => (await redis.hsetnx(key, hold.id, sealed(hold))) === 1,
    change,
    withoutRecords,
    async dropForged() {
      const forged = (await all()).filter(({ read }) => read === 'forged').map(({ id }) => id);
      return forged.length === 0 ? 0 : redis.hdel(key, ...forged);
    },
  };
}

/** Kinds of which each record is a removal of its own; the others say something of a whole target, or of the tenant. */
const DECIDED_IN_PARTS: ReadonlySet<Hold['kind']> = new Set(['cancelled', 'vanished']);

/** What of a hold is decided, and what goes on waiting. @throws MirrorError as {@link HoldStore.decide} */
function partsOf(hold: Hold, { seen = null, only = null }: HoldChoice): { chosen: string[]; rest: string[] } {
  const { id, kind, state, recordIds } = hold;
  if (state !== 'open') throw holdError('hold-decided', `the hold "${id}" was ${state} already`);
  if (seen !== null && seen !== seenCode(hold)) {
    throw holdError('hold-changed', `the hold "${id}" is not what was seen any more: it has ${recordIds.length} items`);
  }
  const chosen = recordIds.filter((recordId) => only?.has(recordId) ?? true);
  const rest = recordIds.filter((recordId) => only?.has(recordId) === false);
  if (only !== null && (chosen.length === 0 || chosen.length < only.size)) {
    throw holdError('hold-changed', `${only.size - chosen.length} of the chosen items are not in the hold "${id}"`);
  }
  if (rest.length > 0 && !DECIDED_IN_PARTS.has(kind)) {
    throw holdError('hold-whole-only', `the hold "${id}" (${kind}) can only be decided whole`);
  }
  return { chosen, rest };
}

/** A hold, and what Redis has of it. */
interface Read {
  hold: Hold;
  value: string;
}

/** @returns `forged` for what we did not put in, null where its key is not configured here (any more): a plan asks for both anew */
function opened(sealer: Sealer, id: string, value: string): Read | 'forged' | null {
  try {
    return { hold: JSON.parse(sealer.open(value, sealContext(id))) as Hold, value };
  } catch (error) {
    return error instanceof MirrorError && error.code === 'sealing-key-unknown' ? null : 'forged';
  }
}

function readable(read: Read | 'forged' | null): Read | null {
  return read === 'forged' ? null : read;
}

function sealContext(id: string): string {
  return `hold/${id}`;
}

function newId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join('');
}

/**
 * Names what a hold keeps back, for whoever decides: it is another one as soon as other records are in it, or its messages say something else.
 * Short enough to be typed.
 */
export function seenCode({ kind, recordIds, content = '' }: Hold): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, content, ...recordIds.toSorted()]))
    .digest();
  return Array.from(digest.subarray(0, SEEN_LENGTH), (byte) => ID_ALPHABET[byte % ID_ALPHABET.length]).join('');
}

/** What is said of a hold that is not there, or not any more. */
export function noSuchHold(id: string): MirrorError {
  return holdError('no-such-hold', `there is no hold ${JSON.stringify(id)}`);
}

function holdError(code: string, message: string): MirrorError {
  return new MirrorError(message, {
    actor: 'settings',
    code,
    retry: 'never',
    remedy: 'see "clinic-mirror holds list"',
  });
}
