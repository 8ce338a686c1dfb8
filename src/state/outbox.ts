import { MirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link, ReasonCode } from '../model/operations.ts';
import type { PendingChange, PlannedChange } from '../model/plan.ts';
import { slices } from '../model/slices.ts';
import type { Instant } from '../model/time.ts';
import { JOURNAL_KEEP_MS, type JournalEffect, journalLine } from './journal.ts';
import { keys } from './keys.ts';
import type { Lease } from './leases.ts';
import { encodeLink } from './link-format.ts';
import { changeName, fenced, KeyIndex, type LinkStore } from './links.ts';
import { ABANDON, MARK_SENT, POSTPONE, PUT, RAISE_REVISION, SETTLE, TAKE_BACK } from './outbox-scripts.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';

/** An entry as the lane takes it: the wanted item opened. */
export interface OutboxEntry extends PendingChange {
  revision: number;
  item: Item | null;
  /** When it, or what it took the place of, was sent last; null when it never was. */
  sentAt: Instant | null;
  /** Epoch of the key to use; above the link's when the target burnt the last one. */
  epoch: number;
  /** The run that decided it; null when it was put in before runs were noted. */
  run: string | null;
}

/** What the lane learned of one entry. */
export type Settlement =
  /**
   * Done: the link as it is now (null when the object is gone), and the entry is removed unless a newer one came. `effect`, when an
   * object that was there before has changed or gone, goes to the journal of the run that wanted it.
   */
  | { entry: OutboxEntry; kind: 'done'; link: Link | null; effect?: JournalEffect }
  /** To be tried again at `dueAt`, `parked` when only a change or a person will help. */
  | { entry: OutboxEntry; kind: 'retry'; error: string; dueAt: Instant; parked: boolean }
  /** The key is burnt: at once again with the next epoch. */
  | { entry: OutboxEntry; kind: 'next-epoch' }
  /**
   * The object carries a later write, `found`, so this one is given up: the link tells what stands there, and revisions go on above. The
   * next plan decides again.
   */
  | { entry: OutboxEntry; kind: 'superseded'; link: Link | null; found: number };

/** The outboxes of one tenant: changes decided and not yet acknowledged, newest wins per record, contents sealed. */
export interface Outbox {
  /** Everything that waits, without content. */
  pending(target: string): Promise<Map<string, PendingChange>>;
  /** Puts the changes of a run in, replacing older ones for the same records. Fenced by the planner's lease. */
  put(
    target: string,
    changes: readonly PlannedChange[],
    now: Instant,
    lease: Lease,
    run?: string | null,
  ): Promise<void>;
  /** Removals that a run decided and that wait; those under way are among them. */
  removalsOf(target: string, run: string): Promise<PendingChange[]>;
  /** At most `limit` entries that are due, oldest first. */
  due(target: string, now: Instant, limit: number): Promise<OutboxEntry[]>;
  /** Notes, before the call, that the entries are being sent. Fenced by the lane's lease. */
  markSent(target: string, entries: readonly OutboxEntry[], now: Instant, lease: Lease): Promise<void>;
  /** Puts entries off to their times, which counts as no failure. Fenced by the lane's lease. */
  postpone(target: string, times: ReadonlyMap<string, Instant>, lease: Lease): Promise<void>;
  /** Lets the next revisions be above one that an object carries. Fenced by the lane's lease. */
  raiseRevision(target: string, found: number, lease: Lease): Promise<void>;
  /**
   * Applies what was learned, links and entries in one atomic step. Fenced by the lane's lease.
   * @param options.noteTakenOut remember whose objects were taken out until they are made again
   */
  settle(
    target: string,
    settlements: readonly Settlement[],
    now: Instant,
    lease: Lease,
    options?: { noteTakenOut: boolean },
  ): Promise<void>;
  /** Those of the records whose object was taken out and not made again. */
  takenOut(target: string, recordIds: readonly string[]): Promise<Set<string>>;
  /** Makes parked and waiting entries due now. @returns how many */
  hurry(target: string, now: Instant): Promise<number>;
  /**
   * Makes entries due now that were decided or sent in a time to come, by a clock that ran ahead.
   * @param toleranceMs a time that is no further ahead is none to come
   */
  takeBack(target: string, now: Instant, toleranceMs: number): Promise<void>;
  /**
   * Takes out entries whose records left the window before they could be written; erasures stay, a person asked for them. Fenced by
   * the planner's lease.
   */
  abandon(target: string, recordIds: readonly string[], lease: Lease): Promise<void>;
  /** Empties the outbox of a target whose calendar was replaced. */
  clear(target: string): Promise<void>;
  /** What waits for one record; null when nothing does. */
  pendingOf(target: string, recordId: string): Promise<PendingChange | null>;
  /** When the change that is due first was decided; null when none waits. */
  oldestAt(target: string): Promise<Instant | null>;
  counts(target: string): Promise<{ pending: number; failing: number }>;
  /** When the next entry is due; null when none waits. */
  nextDueAt(target: string): Promise<Instant | null>;
}

/** Stored form of an entry; one letter a field, since every waiting record pays for it. */
interface StoredEntry {
  /** revision */ r: number;
  /** wanted: present or absent */ w: 'p' | 'a';
  /** fingerprint */ f: string | null;
  /** start, epoch ms */ s: number;
  /** end, epoch ms; absent in entries of an earlier release */ t?: number;
  /** reason */ why: ReasonCode;
  /** attempts */ n: number;
  /** last error code */ e: string | null;
  /** parked */ p: boolean;
  /** enqueued at */ q: number;
  /** due at */ d: number;
  /** sent before */ i: boolean;
  /** sent last at */ z?: number | null;
  /** key epoch */ k: number;
  /** sealed item */ x: string | null;
  /** run */ u: string | null;
}

/** Opens the outboxes of a tenant. */
export function createOutbox(
  redis: RedisClient,
  tenant: string,
  sealer: Sealer,
  links: LinkStore,
  journalKeepMs = JOURNAL_KEEP_MS,
): Outbox {
  const names = (target: string) => ({
    outbox: keys.outbox(tenant, target),
    due: keys.outboxDue(tenant, target),
    failing: keys.outboxFailing(tenant, target),
  });
  const context = (target: string, recordId: string) => `outbox/${target}/${recordId}`;
  let settled = 0;

  return {
    async pending(target) {
      const pending = new Map<string, PendingChange>();
      for await (const [id, entry] of storedEntries(redis, names(target).outbox)) pending.set(id, toPending(id, entry));
      return pending;
    },
    async removalsOf(target, run) {
      const removals = new Map<string, PendingChange>();
      for await (const [id, entry] of storedEntries(redis, names(target).outbox)) {
        if (entry.u === run && entry.w === 'a') removals.set(id, toPending(id, entry));
      }
      return [...removals.values()];
    },
    async put(target, changes, now, lease, run = null) {
      const { outbox, due, failing } = names(target);
      for (const slice of slices(changes, 250)) {
        const pairs = slice.flatMap((change) => [
          change.recordId,
          JSON.stringify(storedOf(change, { now, run }, sealer, context(target, change.recordId))),
        ]);
        const named = [lease.key, keys.target(tenant, target), outbox, due, failing];
        await fenced(redis.eval(PUT, named.length, ...named, lease.token, now, ...pairs));
      }
    },
    async due(target, now, limit) {
      const { outbox, due } = names(target);
      const ids = await redis.zrangebyscore(due, '-inf', now, 'LIMIT', 0, limit);
      if (ids.length === 0) return [];
      const values = await redis.hmget(outbox, ...ids);
      const entries: OutboxEntry[] = [];
      for (const [index, id] of ids.entries()) {
        const entry = readable(id, values[index] ?? null, sealer, context(target, id));
        if (entry !== null) entries.push(entry);
        // What can't be read any more is planned again from the clinic by the next cycle; it must not stop the others.
        else await redis.pipeline().hdel(outbox, id).zrem(due, id).exec();
      }
      return entries;
    },
    async markSent(target, entries, now, lease) {
      const ids = entries.map(({ recordId }) => recordId);
      await fenced(redis.eval(MARK_SENT, 2, lease.key, names(target).outbox, lease.token, now, ...ids));
    },
    async postpone(target, times, lease) {
      await fenced(redis.eval(POSTPONE, 2, lease.key, names(target).due, lease.token, ...[...times].flat()));
    },
    async raiseRevision(target, found, lease) {
      await fenced(redis.eval(RAISE_REVISION, 2, lease.key, keys.target(tenant, target), lease.token, found));
    },
    async settle(target, settlements, now, lease, { noteTakenOut } = { noteTakenOut: false }) {
      const layout = await links.layout(target);
      settled += 1;
      const { outbox, due, failing } = names(target);
      const others = [keys.journals(tenant), keys.target(tenant, target)];
      others.push(keys.unseen(tenant, target), keys.takenOut(tenant, target), keys.linksMeta(tenant, target));
      const named = new KeyIndex(lease.key, outbox, due, failing, ...others);
      const tuples = settlements.flatMap((settlement) => {
        const { recordId, revision, run } = settlement.entry;
        const places: Places = {
          bucket: named.position(links.bucketKey(target, layout, recordId)),
          journal: run === null ? '' : named.position(keys.journal(tenant, run)),
        };
        return [settlement.kind, recordId, revision, ...settlementArguments(settlement, places, now)];
      });
      const head = [lease.token, now, journalKeepMs, target, noteTakenOut ? '1' : '0', settled, changeName()];
      await fenced(redis.eval(SETTLE, named.keys.length, ...named.keys, ...head, ...tuples));
    },
    async takenOut(target, recordIds) {
      if (recordIds.length === 0) return new Set();
      const are = await redis.smismember(keys.takenOut(tenant, target), ...recordIds);
      return new Set(recordIds.filter((_, index) => are[index] === 1));
    },
    async hurry(target, now) {
      const { outbox, due } = names(target);
      const ids = await redis.hkeys(outbox);
      const pipeline = redis.pipeline();
      for (const id of ids) pipeline.zadd(due, 'XX', now, id);
      await pipeline.exec();
      return ids.length;
    },
    async takeBack(target, now, toleranceMs) {
      const { outbox, due } = names(target);
      await redis.eval(TAKE_BACK, 2, outbox, due, now, now + toleranceMs, LOOKED_AT_IN_ONE_GO);
    },
    async abandon(target, recordIds, lease) {
      const { outbox, due, failing } = names(target);
      for (const slice of slices(recordIds, 500)) {
        await fenced(redis.eval(ABANDON, 4, lease.key, outbox, due, failing, lease.token, ...slice));
      }
    },
    clear: async (target) => void (await redis.unlink(...Object.values(names(target)))),
    async pendingOf(target, recordId) {
      const value = await redis.hget(names(target).outbox, recordId);
      return value === null ? null : toPending(recordId, parse(value));
    },
    async oldestAt(target) {
      const { due } = names(target);
      const [oldest] = await redis.zrangebyscore(due, '-inf', '+inf', 'LIMIT', 0, 1);
      if (oldest === undefined) return null;
      const value = await redis.hget(names(target).outbox, oldest);
      return value === null ? null : parse(value).q;
    },
    async counts(target) {
      const { outbox, failing } = names(target);
      const [pending, failed] = await Promise.all([redis.hlen(outbox), redis.zcard(failing)]);
      return { pending, failing: failed };
    },
    async nextDueAt(target) {
      const { due } = names(target);
      const [, score] = await redis.zrangebyscore(due, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
      return score === undefined ? null : Number(score);
    },
  };
}

/** Positions of keys in the script's list. */
interface Places {
  bucket: number;
  journal: number | '';
}

function settlementArguments(settlement: Settlement, places: Places, now: Instant): (string | number)[] {
  const { entry } = settlement;
  if (settlement.kind === 'next-epoch') return ['', '', '', entry.epoch + 1, ''];
  if (settlement.kind === 'retry') return [settlement.error, settlement.dueAt, settlement.parked ? '1' : '0', '', ''];
  const { link } = settlement;
  const stored = link === null ? '' : encodeLink(link);
  if (settlement.kind === 'superseded') return [places.bucket, stored, '', settlement.found, ''];
  const { effect } = settlement;
  if (effect === undefined || entry.run === null) return [places.bucket, stored, '', '', ''];
  return [places.bucket, stored, places.journal, journalLine(effect, entry.reason, now), entry.run];
}

function storedOf(
  change: PlannedChange,
  { now, run }: { now: Instant; run: string | null },
  sealer: Sealer,
  context: string,
): StoredEntry {
  const { wanted } = change;
  const present = wanted.want === 'present';
  return {
    r: 0,
    w: present ? 'p' : 'a',
    f: present ? wanted.fingerprint : null,
    s: wanted.startAt,
    t: wanted.endAt,
    why: change.reason,
    n: 0,
    e: null,
    p: false,
    q: now,
    d: now,
    i: false,
    z: null,
    k: 0,
    x: present ? sealer.seal(JSON.stringify(wanted.item), context) : null,
    u: run,
  };
}

/** Entries that a script looks at: it keeps everybody else waiting. */
const LOOKED_AT_IN_ONE_GO = 1_000;
/** Entries that are read in one go: what is parsed at once keeps everybody else waiting. */
const ENTRIES_AT_ONCE = 500;

/** All entries; one may come twice (HSCAN), and what comes in or goes meanwhile may or may not be among them. */
async function* storedEntries(redis: RedisClient, key: string): AsyncGenerator<[string, StoredEntry]> {
  let cursor = '0';
  do {
    const [next, fields] = await redis.hscan(key, cursor, 'COUNT', ENTRIES_AT_ONCE);
    for (let at = 0; at < fields.length; at += 2) yield [fields[at] as string, parse(fields[at + 1] as string)];
    cursor = next;
  } while (cursor !== '0');
}

function parse(value: string): StoredEntry {
  return JSON.parse(value) as StoredEntry;
}

function toPending(recordId: string, stored: StoredEntry): PendingChange {
  return {
    recordId,
    reason: stored.why,
    want: stored.w === 'p' ? 'present' : 'absent',
    fingerprint: stored.f ?? null,
    startAt: stored.s,
    endAt: stored.t ?? stored.s,
    attempts: stored.n,
    lastError: stored.e ?? null,
    sent: stored.i,
    parked: stored.p,
    enqueuedAt: stored.q,
    dueAt: stored.d,
  };
}

/** @returns null for an entry that is gone or whose seal is broken; @throws MirrorError `settings` when its key is missing */
function readable(recordId: string, value: string | null, sealer: Sealer, context: string): OutboxEntry | null {
  if (value === null) return null;
  try {
    return entryOf(recordId, parse(value), sealer, context);
  } catch (error) {
    if (error instanceof MirrorError && error.code !== 'seal-broken') throw error;
    return null;
  }
}

function entryOf(recordId: string, stored: StoredEntry, sealer: Sealer, context: string): OutboxEntry {
  const sealed = stored.x ?? null;
  return {
    ...toPending(recordId, stored),
    revision: stored.r,
    item: sealed === null ? null : (JSON.parse(sealer.open(sealed, context)) as Item),
    sentAt: stored.z ?? null,
    epoch: stored.k,
    run: stored.u ?? null,
  };
}
