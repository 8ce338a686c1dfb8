import { createHash, randomInt } from 'node:crypto';
import { message, type Text } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';
import { sealedTable } from './sealing.ts';

/** Letters and digits that can't be mistaken for one another when read aloud. */
const ID_ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const ID_LENGTH = 5;
const SEEN_LENGTH = 8;

/** The holds of one tenant. At most one open hold per target and kind. */
export type HoldStore = ReturnType<typeof createHoldStore>;

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

type Holds = ReturnType<typeof sealedTable<Hold>>;

/** Opens the holds of a tenant. They are sealed, so that nobody who can write into Redis alone approves anything. */
export function createHoldStore(redis: RedisClient, tenant: string, sealer: Sealer) {
  // What does not open approves nothing, and the next plan asks anew.
  const holds: Holds = sealedTable<Hold>(keys.holds(tenant), { redis, sealer });
  return {
    list: async () => [...(await holds.all()).values()],
    /** Makes the open hold of this target and kind cover exactly these records; none closes it. One that is being decided stays. */
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
     * Decides a hold whole or in part: a part becomes a hold of its own, and what is not in it goes on waiting under the hold's id.
     * @returns the hold that was decided
     * @throws MirrorError `settings`, code `no-such-hold`, `hold-decided`, `hold-changed` when it does not hold what was seen by now, or
     *   `hold-whole-only`
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

/** What cycles, backups and forgetting change of all holds. */
function openUpkeep(holds: Holds) {
  return {
    /**
     * Rejects open holds that expired and drops decisions that did. A first run, or a hold of people, that nobody decided is dropped too, so that the
     * next plan asks for it again. @returns the holds that were rejected so
     */
    async expire(now: Instant, rejectionExpiresAt: Instant): Promise<Hold[]> {
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
    /** Takes out what we did not put in: it approves nothing, and the next plan asks anew. @returns how many */
    dropForged: holds.dropForged,
    /** Puts decisions of before back, unless they have expired or a hold of that id is there. @returns how many */
    async putBack(decided: readonly Hold[], now: Instant): Promise<number> {
      const current = decided.filter(({ state, expiresAt }) => state !== 'open' && expiresAt > now);
      const made = await Promise.all(current.map((hold) => holds.add(hold.id, hold)));
      return made.filter(Boolean).length;
    },
    /** Takes records of a target out of its holds, decided ones too; a hold without any ends. @returns how many places they stood in */
    async erase(target: string, recordIds: ReadonlySet<string>): Promise<number> {
      let removed = 0;
      const ofTarget = [...(await holds.all()).values()].filter((hold) => hold.target === target);
      for (const { id } of ofTarget) removed += await withoutRecords(id, recordIds);
      return removed;
    },
  };

  /** Tries again when a plan or a person changed the hold meanwhile. */
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

/** Kinds of which each record is a removal of its own; the others say something of a whole target, or of the tenant. */
const DECIDED_IN_PARTS: ReadonlySet<Hold['kind']> = new Set(['cancelled', 'vanished']);

/** What of a hold is decided, and what goes on waiting. @throws MirrorError as `decide` */
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
