import { MirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link, ReasonCode } from '../model/operations.ts';
import type { PendingChange, PlannedChange } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import { JOURNAL_KEEP_MS, type JournalEffect, journalLine } from './journal.ts';
import { keys } from './keys.ts';
import { FENCE, type Lease } from './leases.ts';
import { encodeLink } from './link-format.ts';
import { fenced, KeyIndex, type LinkStore } from './links.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';
import { slices } from './slices.ts';

/** An entry as the lane takes it: the wanted item opened. */
export interface OutboxEntry extends PendingChange {
  revision: number;
  item: Item | null;
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
  | { entry: OutboxEntry; kind: 'next-epoch' };

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
  markSent(target: string, entries: readonly OutboxEntry[], lease: Lease): Promise<void>;
  /** Applies what was learned, links and entries in one atomic step. Fenced by the lane's lease. */
  settle(target: string, settlements: readonly Settlement[], now: Instant, lease: Lease): Promise<void>;
  /** Makes parked and waiting entries due now. @returns how many */
  hurry(target: string, now: Instant): Promise<number>;
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
  /** key epoch */ k: number;
  /** sealed item */ x: string | null;
  /** run */ u: string | null;
}

// KEYS: lease, target, outbox, due, failing. ARGV: token, now, then (recordId, entry JSON) pairs.
const PUT = `${FENCE}
for i = 3, #ARGV, 2 do
  local entry = cjson.decode(ARGV[i + 1])
  local old = redis.call('HGET', KEYS[3], ARGV[i])
  entry.r = redis.call('HINCRBY', KEYS[2], 'revision', 1)
  if old then
    local before = cjson.decode(old)
    entry.i = before.i
    entry.k = before.k
  end
  redis.call('HSET', KEYS[3], ARGV[i], cjson.encode(entry))
  redis.call('ZADD', KEYS[4], ARGV[2], ARGV[i])
  redis.call('ZREM', KEYS[5], ARGV[i])
end
return 1`;

// KEYS: lease, outbox. ARGV: token, then (recordId, revision) pairs.
const MARK_SENT = `${FENCE}
for i = 2, #ARGV, 2 do
  local old = redis.call('HGET', KEYS[2], ARGV[i])
  if old then
    local entry = cjson.decode(old)
    entry.i = true
    redis.call('HSET', KEYS[2], ARGV[i], cjson.encode(entry))
  end
end
return 1`;

// KEYS: lease, outbox, due, failing, journals, target, unseen, buckets and journals of runs… ARGV: token, now, journal's life, target, then
// (kind, recordId, revision, …5) tuples:
// done: bucket position, link or '', journal position or '', its line, run | retry: error, due, parked | next-epoch: -, -, -, epoch
// What is written while a change feed is followed is noted: a feed may keep silent about what came and went between two questions.
// Of a record that is to be forgotten nothing is noted, whichever of its changes was under way.
const SETTLE = `${FENCE}
local follows = redis.call('HEXISTS', KEYS[6], 'cursor') == 1
for i = 5, #ARGV, 8 do
  local kind, id, revision = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  if kind == 'done' then
    local bucket = KEYS[tonumber(ARGV[i + 3])]
    if ARGV[i + 4] == '' then redis.call('HDEL', bucket, id) else redis.call('HSET', bucket, id, ARGV[i + 4]) end
    local waiting = redis.call('HGET', KEYS[2], id)
    local forgotten = waiting and cjson.decode(waiting).why == 'forgotten'
    if forgotten then redis.call('ZREM', KEYS[7], id)
    elseif follows then redis.call('ZADD', KEYS[7], ARGV[2], id) end
    if ARGV[i + 5] ~= '' and not forgotten then
      local journal = KEYS[tonumber(ARGV[i + 5])]
      redis.call('HSET', journal, ARGV[4] .. '\t' .. id, ARGV[i + 6])
      redis.call('PEXPIRE', journal, ARGV[3])
      redis.call('ZADD', KEYS[5], 'NX', ARGV[2], ARGV[i + 7])
      redis.call('PEXPIRE', KEYS[5], ARGV[3])
    end
  end
  local old = redis.call('HGET', KEYS[2], id)
  if old then
    local entry = cjson.decode(old)
    local same = entry.r == revision
    if kind == 'done' then
      if same then
        redis.call('HDEL', KEYS[2], id)
        redis.call('ZREM', KEYS[3], id)
      else
        entry.i = false
        redis.call('HSET', KEYS[2], id, cjson.encode(entry))
      end
      redis.call('ZREM', KEYS[4], id)
    elseif kind == 'retry' and same then
      entry.n = entry.n + 1
      entry.e = ARGV[i + 3]
      entry.d = tonumber(ARGV[i + 4])
      entry.p = ARGV[i + 5] == '1'
      redis.call('HSET', KEYS[2], id, cjson.encode(entry))
      redis.call('ZADD', KEYS[3], ARGV[i + 4], id)
      redis.call('ZADD', KEYS[4], 'NX', ARGV[2], id)
    elseif kind == 'next-epoch' then
      entry.k = tonumber(ARGV[i + 6])
      redis.call('HSET', KEYS[2], id, cjson.encode(entry))
      redis.call('ZADD', KEYS[3], ARGV[2], id)
    end
  end
end
return 1`;

// KEYS: lease, outbox, due, failing. ARGV: token, then record ids.
const ABANDON = `${FENCE}
for i = 2, #ARGV do
  local entry = redis.call('HGET', KEYS[2], ARGV[i])
  if not entry or cjson.decode(entry).why ~= 'forgotten' then
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('ZREM', KEYS[3], ARGV[i])
    redis.call('ZREM', KEYS[4], ARGV[i])
  end
end
return 1`;

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
        // What can't be read any more is planned anew from the clinic by the next cycle; it must not stop the others.
        else await redis.pipeline().hdel(outbox, id).zrem(due, id).exec();
      }
      return entries;
    },
    async markSent(target, entries, lease) {
      const pairs = entries.flatMap((entry) => [entry.recordId, entry.revision]);
      await fenced(redis.eval(MARK_SENT, 2, lease.key, names(target).outbox, lease.token, ...pairs));
    },
    async settle(target, settlements, now, lease) {
      const layout = await links.layout(target);
      const { outbox, due, failing } = names(target);
      const others = [keys.journals(tenant), keys.target(tenant, target), keys.unseen(tenant, target)];
      const named = new KeyIndex(lease.key, outbox, due, failing, ...others);
      const tuples = settlements.flatMap((settlement) => {
        const { recordId, revision, run } = settlement.entry;
        const places: Places = {
          bucket: named.position(links.bucketKey(target, layout, recordId)),
          journal: run === null ? '' : named.position(keys.journal(tenant, run)),
        };
        return [settlement.kind, recordId, revision, ...settlementArguments(settlement, places, now)];
      });
      const head = [lease.token, now, journalKeepMs, target];
      await fenced(redis.eval(SETTLE, named.keys.length, ...named.keys, ...head, ...tuples));
    },
    async hurry(target, now) {
      const { outbox, due } = names(target);
      const ids = await redis.hkeys(outbox);
      const pipeline = redis.pipeline();
      for (const id of ids) pipeline.zadd(due, 'XX', now, id);
      await pipeline.exec();
      return ids.length;
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
  const { link, effect } = settlement;
  const stored = link === null ? '' : encodeLink(link);
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
    k: 0,
    x: present ? sealer.seal(JSON.stringify(wanted.item), context) : null,
    u: run,
  };
}

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
    epoch: stored.k,
    run: stored.u ?? null,
  };
}
