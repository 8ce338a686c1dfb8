import { createHash, randomInt } from 'node:crypto';
import { MirrorError } from '../core/model/errors.ts';
import type { Hold } from '../core/model/plan.ts';
import type { Instant } from '../core/model/time.ts';
import { message, type Text } from '../messages/message.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';
import { sealedTable } from './sealing.ts';

/** Characters that stay distinct when read aloud. */
const ID_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const ID_LENGTH = 5;
const SEEN_LENGTH = 8;

/** Holds of one tenant. At most one open hold per target and kind. */
export type HoldStore = ReturnType<typeof createHoldStore>;

/** Decision about a hold, with the version that the operator saw. */
export interface HoldChoice {
  /** {@link seenCode} when the operator saw the hold; absent or null: the current version. */
  seen?: string | null;
  /** Decided records; absent or null: all records. */
  only?: ReadonlySet<string> | null;
}

/** Context for a new or changed hold. */
export interface HoldContext extends Pick<Hold, 'exceededIn'> {
  linkCount: number;
  /** See `Hold`. */
  content?: string;
  now: Instant;
  expiresAt: Instant;
}

type Holds = ReturnType<typeof sealedTable<Hold>>;

/** Opens the holds of a tenant. Holds are encrypted, so that an attacker with mere write access to Redis cannot approve changes. */
export function createHoldStore(redis: RedisClient, tenant: string, sealer: Sealer) {
  // A hold that cannot be decrypted approves nothing, and the next plan creates a new hold.
  const holds: Holds = sealedTable<Hold>(keys.holds(tenant), { redis, sealer, kind: 'holds' });
  return {
    list: async () => [...(await holds.all()).values()],
    /**
     * Updates the open hold of a target and kind to cover exactly these records; an empty list closes the hold. A hold with a decision in
     * progress stays.
     */
    async cover(
      target: string,
      kind: Hold['kind'],
      recordIds: readonly string[],
      { now, expiresAt, ...seen }: HoldContext,
    ): Promise<Hold | null> {
      const open = (await holds.entries()).find(
        ({ value }) => value?.target === target && value.kind === kind && value.state === 'open',
      );
      if (open?.value == null) {
        if (recordIds.length === 0) return null;
        const stamped = { createdAt: now, decidedAt: null, expiresAt };
        const born: Hold = { id: newId(), target, kind, state: 'open', ...stamped, recordIds, ...seen };
        await holds.set(born.id, born);
        return born;
      }
      const grown = recordIds.length === 0 ? null : { ...open.value, recordIds, ...seen };
      return (await holds.replace(open.field, open.sealed, [[open.field, grown]])) ? grown : null;
    },
    /**
     * Decides a hold completely or in part: a decided part becomes a separate hold, and the remaining records wait under the original id.
     * @returns the decided hold
     * @throws MirrorError `settings`, code `no-such-hold`, `hold-decided`, `hold-changed` if the content differs from the seen version, or
     * `hold-whole-only`
     */
    async decide(
      id: string,
      { state, now, expiresAt }: { state: 'approved' | 'rejected'; now: Instant; expiresAt: Instant },
      choice: HoldChoice = {},
    ): Promise<Hold> {
      for (;;) {
        const { value: hold, sealed } = await holds.read(id);
        if (hold === null) throw noSuchHold(id);
        const { chosen, rest } = partsOf(hold, choice);
        const whole: Hold = { ...hold, state, decidedAt: now, expiresAt };
        const decided = rest.length === 0 ? whole : { ...whole, id: newId(), partOf: id, recordIds: chosen };
        const remaining = rest.length === 0 ? [] : [[id, { ...hold, recordIds: rest }] as const];
        if (await holds.replace(id, sealed, [[decided.id, decided], ...remaining])) return decided;
      }
    },
    ...openUpkeep(holds),
  };
}

/** Changes of holds by cycles, backups and the erasure of persons. */
function openUpkeep(holds: Holds) {
  return {
    /**
     * Rejects expired open holds and removes expired decisions. An undecided hold of a first run or of matched persons is removed too, and
     * the next plan creates a new hold; so do damaged holds, which approve nothing. @returns the rejected holds
     */
    async expire(now: Instant, rejectionExpiresAt: Instant): Promise<Hold[]> {
      await holds.prune();
      const expired: Hold[] = [];
      for (const { field, value: hold, sealed } of await holds.entries()) {
        if (hold === null || hold.expiresAt > now) continue;
        const isDropped = hold.state !== 'open' || hold.kind === 'first-run' || hold.kind === 'people';
        const next: Hold | null = isDropped
          ? null
          : { ...hold, state: 'rejected', decidedAt: now, expiresAt: rejectionExpiresAt };
        if ((await holds.replace(field, sealed, [[field, next]])) && next !== null) expired.push(next);
      }
      return expired;
    },
    /** Restores earlier decisions, unless expired or replaced. @returns their number */
    async putBack(decided: readonly Hold[], now: Instant): Promise<number> {
      const current = decided.filter(({ state, expiresAt }) => state !== 'open' && expiresAt > now);
      const made = await Promise.all(current.map((hold) => holds.add(hold.id, hold)));
      return made.filter(Boolean).length;
    },
    /**
     * Removes records of a target from its holds, including decided holds; an empty hold ends. @returns the number of removed references
     */
    async erase(target: string, recordIds: ReadonlySet<string>): Promise<number> {
      let removed = 0;
      const ofTarget = [...(await holds.all()).values()].filter((hold) => hold.target === target);
      for (const { id } of ofTarget) removed += await withoutRecords(id, recordIds);
      return removed;
    },
  };

  /** Repeats if a plan or an operator changed the hold meanwhile. */
  async function withoutRecords(id: string, forgotten: ReadonlySet<string>): Promise<number> {
    for (;;) {
      const { value: hold, sealed } = await holds.read(id);
      if (hold === null) return 0;
      const recordIds = hold.recordIds.filter((recordId) => !forgotten.has(recordId));
      const removed = hold.recordIds.length - recordIds.length;
      const next = recordIds.length === 0 ? null : { ...hold, recordIds };
      if (removed === 0 || (await holds.replace(id, sealed, [[id, next]]))) return removed;
    }
  }
}

/** Kinds with a separate removal per record; other kinds concern a whole target or the tenant. */
const DECIDED_IN_PARTS: ReadonlySet<Hold['kind']> = new Set(['cancelled', 'vanished']);

/** Splits a hold into decided and waiting records. @throws MirrorError as `decide` */
function partsOf(hold: Hold, { seen = null, only = null }: HoldChoice): { chosen: string[]; rest: string[] } {
  const { id, kind, state, recordIds } = hold;
  if (state !== 'open') throw holdError('hold-decided', message('hold-decided', { id, state }));
  if (seen !== null && seen !== seenCode(hold)) {
    throw holdError('hold-changed', message('hold-changed', { id, count: recordIds.length }));
  }
  const chosen = recordIds.filter((recordId) => only?.has(recordId) ?? true);
  const rest = recordIds.filter((recordId) => only?.has(recordId) === false);
  if (only !== null && (chosen.length === 0 || chosen.length < only.size)) {
    throw holdError('hold-changed', message('hold-changed.missing', { id, count: only.size - chosen.length }));
  }
  if (rest.length > 0 && !DECIDED_IN_PARTS.has(kind)) {
    throw holdError('hold-whole-only', message('hold-whole-only', { id, kind }));
  }
  return { chosen, rest };
}

function newId(): string {
  return Array.from({ length: ID_LENGTH }, () => ID_ALPHABET[randomInt(ID_ALPHABET.length)]).join('');
}

/** Returns a code for the content of a hold, short enough to type. The code changes with the records or the messages. */
export function seenCode({ kind, recordIds, content = '' }: Hold): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([kind, content, ...recordIds.toSorted()]))
    .digest();
  return Array.from(digest.subarray(0, SEEN_LENGTH), (byte) => ID_ALPHABET[byte % ID_ALPHABET.length]).join('');
}

/** Returns the error of an absent hold. */
export function noSuchHold(id: string): MirrorError {
  return holdError('no-such-hold', message('no-such-hold', { id }));
}

function holdError(code: string, text: Text): MirrorError {
  return new MirrorError(text, {
    actor: 'settings',
    code,
    retry: 'never',
    remedy: message('no-such-hold.remedy'),
  });
}
