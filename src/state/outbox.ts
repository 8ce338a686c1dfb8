import type { Item } from '../core/model/items.ts';
import { slices } from '../core/model/pieces.ts';
import type { PendingChange, PlannedChange } from '../core/model/plan.ts';
import type { Instant } from '../core/model/time.ts';
import type { ChangeTable, Lease, OutboxEntry, OutboxSettlement, OutboxWrite } from '../engine/store.ts';
import { readStored } from './damaged.ts';
import {
  type KeyPositions,
  type LinkVersions,
  parseEntry,
  readableEntry,
  type StoredEntry,
  settlementArguments,
  storedOf,
  toPending,
} from './formats.ts';
import { JOURNAL_RETENTION_MS, journalLine } from './journal.ts';
import { keys } from './keys.ts';
import { changeName, type LinkStore } from './links.ts';
import type { RedisClient } from './redis.ts';
import { fencedScript, KeyIndex, pairsOf, redisScript, sendAll } from './script.ts';
import type { Sealer } from './sealing.ts';

const scripts = {
  put: fencedScript<number>(import.meta.url, 'outbox-put'),
  mark: fencedScript<number>(import.meta.url, 'outbox-mark'),
  postpone: fencedScript<number>(import.meta.url, 'outbox-postpone'),
  raiseRevision: fencedScript<number>(import.meta.url, 'outbox-raise-revision'),
  confirm: fencedScript<LinkVersions | 0>(import.meta.url, 'outbox-confirm'),
  takeBack: redisScript<number>(import.meta.url, 'outbox-take-back'),
  abandon: fencedScript<number>(import.meta.url, 'outbox-abandon'),
};

/**
 * Outboxes of one tenant: planned and unacknowledged changes with encrypted contents. A newer change replaces an older change of the
 * record.
 */
export interface Outbox extends ChangeTable {
  /** Returns waiting removals of a run, including removals in progress. */
  removalsOf(target: string, run: string): Promise<PendingChange[]>;
  /** Returns the waiting changes of the given records. */
  pendingOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, PendingChange>>;
  /** Returns the contents of waiting changes of the given records. Null: the change is a deletion, or cannot be decrypted. */
  contentsOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, Item | null>>;
  /** Returns the ids of waiting records in order, separated by success of the last attempt. */
  recordIds(target: string): Promise<{ waiting: string[]; failing: string[] }>;
  /** Returns when the first due change was planned, or null. */
  oldestAt(target: string): Promise<Instant | null>;
}

/** Changes per script: a script blocks Redis. */
const LOOKED_AT_IN_ONE_GO = 1_000;
/** Changes that are read together: parsing blocks the main thread. */
const ENTRIES_AT_ONCE = 500;

/** Sealers of an outbox: encryption keys for waiting changes, the identity key for journal lines. */
export interface OutboxSealers {
  sealer: Sealer;
  proofs: Sealer;
  /** Retention of a journal after its last line. */
  journalRetentionMs?: number;
}

export function createOutbox(redis: RedisClient, tenant: string, sealers: OutboxSealers, links: LinkStore): Outbox {
  return new RedisOutbox(redis, tenant, sealers, links);
}

class RedisOutbox implements Outbox {
  readonly #redis: RedisClient;
  readonly #tenant: string;
  readonly #sealer: Sealer;
  readonly #proofs: Sealer;
  readonly #links: LinkStore;
  readonly #journalRetentionMs: number;
  /** Number of settlements, which identifies a repeated one. */
  #doneCount = 0;

  constructor(redis: RedisClient, tenant: string, sealers: OutboxSealers, links: LinkStore) {
    this.#redis = redis;
    this.#tenant = tenant;
    this.#sealer = sealers.sealer;
    this.#proofs = sealers.proofs;
    this.#links = links;
    this.#journalRetentionMs = sealers.journalRetentionMs ?? JOURNAL_RETENTION_MS;
  }

  async pending(target: string): Promise<Map<string, PendingChange>> {
    const pending = new Map<string, PendingChange>();
    for await (const [id, entry] of this.#storedEntries(target)) pending.set(id, toPending(id, entry));
    return pending;
  }

  async removalsOf(target: string, run: string): Promise<PendingChange[]> {
    const removals = new Map<string, PendingChange>();
    for await (const [id, entry] of this.#storedEntries(target)) {
      if (entry.u === run && entry.w === 'a') removals.set(id, toPending(id, entry));
    }
    return [...removals.values()];
  }

  async put(
    target: string,
    changes: readonly PlannedChange[],
    { now, lease, run = null }: OutboxWrite & { run?: string | null },
  ): Promise<void> {
    const { outbox, due, failing } = this.#keysOf(target);
    for (const slice of slices(changes, 250)) {
      const pairs = slice.flatMap((change) => [
        change.recordId,
        JSON.stringify(storedOf(change, { now, run }, this.#sealer, sealContext(target, change.recordId))),
      ]);
      const named = [keys.target(this.#tenant, target), outbox, due, failing];
      await scripts.put(this.#redis, lease, named, [now, ...pairs]);
    }
  }

  async due(target: string, now: Instant, limit: number): Promise<OutboxEntry[]> {
    const { outbox, due } = this.#keysOf(target);
    const ids = await this.#redis.zrangebyscore(due, '-inf', now, 'LIMIT', 0, limit);
    if (ids.length === 0) return [];
    const values = await this.#redis.hmget(outbox, ...ids);
    const entries: OutboxEntry[] = [];
    for (const [index, id] of ids.entries()) {
      const entry = readableEntry(id, values[index] ?? null, this.#sealer, sealContext(target, id));
      if (entry !== null) entries.push(entry);
      else await this.#quarantine(target, id);
    }
    return entries;
  }

  /**
   * Removes a change that no plan stored, or that is unreadable: the change has no effect, and the next cycle plans again from the source.
   */
  async #quarantine(target: string, id: string): Promise<void> {
    const { outbox, due, failing } = this.#keysOf(target);
    await sendAll(this.#redis.pipeline().hdel(outbox, id).zrem(due, id).zrem(failing, id));
  }

  async markSent(target: string, entries: readonly OutboxEntry[], now: Instant, lease: Lease): Promise<void> {
    const ids = entries.map(({ recordId }) => recordId);
    const { outbox } = this.#keysOf(target);
    await scripts.mark(this.#redis, lease, [outbox], [now, ...ids]);
  }

  async markUnsent(target: string, entries: readonly OutboxEntry[], lease: Lease): Promise<void> {
    const ids = entries.map(({ recordId }) => recordId);
    const { outbox } = this.#keysOf(target);
    await scripts.mark(this.#redis, lease, [outbox], ['', ...ids]);
  }

  async postpone(target: string, times: ReadonlyMap<string, Instant>, lease: Lease): Promise<void> {
    const { due } = this.#keysOf(target);
    await scripts.postpone(this.#redis, lease, [due], [...times].flat());
  }

  async raiseRevision(target: string, found: number, lease: Lease): Promise<void> {
    await scripts.raiseRevision(this.#redis, lease, [keys.target(this.#tenant, target)], [found]);
  }

  async complete(
    target: string,
    settlements: readonly OutboxSettlement[],
    { now, lease, recordTakenOut = false }: OutboxWrite & { recordTakenOut?: boolean },
  ): Promise<void> {
    const [tenant, links] = [this.#tenant, this.#links];
    const layout = await links.layout(target);
    this.#doneCount += 1;
    const { outbox, due, failing } = this.#keysOf(target);
    const others = [keys.journals(tenant), keys.target(tenant, target)];
    others.push(keys.unseen(tenant, target), keys.takenOut(tenant, target), keys.linksMeta(tenant, target));
    const named = new KeyIndex(lease.key, outbox, due, failing, ...others);
    const stored = new Map<string, string>();
    for (const settlement of settlements) {
      if (!('link' in settlement)) continue;
      stored.set(settlement.entry.recordId, settlement.link === null ? '' : links.encoded(target, settlement.link));
    }
    const tuples = settlements.flatMap((settlement) => {
      const { recordId, revision, run } = settlement.entry;
      const positions: KeyPositions = {
        bucket: named.position(links.bucketKey(target, layout, recordId)),
        journal: run === null ? '' : named.position(keys.journal(tenant, run)),
        link: stored.get(recordId) ?? '',
        line: this.#lineOf(target, settlement, now),
      };
      return [settlement.kind, recordId, revision, ...settlementArguments(settlement, positions)];
    });
    const removalFlag = recordTakenOut ? '1' : '0';
    const head = [now, this.#journalRetentionMs, target, removalFlag, this.#doneCount, changeName()];
    const versions = await scripts.confirm(this.#redis, lease, named.keys.slice(1), [...head, ...tuples]);
    // A number means a repeated call without a change.
    if (versions !== 0) links.recordChange(target, versions, stored);
  }

  #lineOf(target: string, settlement: OutboxSettlement, now: Instant): string {
    const { run, recordId, reason } = settlement.entry;
    if (settlement.kind !== 'done' || settlement.effect === undefined || run === null) return '';
    const { effect, before = null, link } = settlement;
    const after = link === null ? null : { startAt: link.startAt, endAt: link.endAt };
    return journalLine(this.#proofs, { run, target, recordId }, { effect, reason, at: now, times: { before, after } });
  }

  async takenOut(target: string, recordIds: readonly string[]): Promise<Set<string>> {
    if (recordIds.length === 0) return new Set();
    const are = await this.#redis.smismember(keys.takenOut(this.#tenant, target), ...recordIds);
    return new Set(recordIds.filter((_, index) => are[index] === 1));
  }

  async hurry(target: string, now: Instant, codes?: ReadonlySet<string>): Promise<number> {
    const { due, failing } = this.#keysOf(target);
    if (codes !== undefined && (await this.#redis.exists(failing)) === 0) return 0;
    const ids = new Set<string>();
    for await (const [id, entry] of this.#storedEntries(target)) {
      const isAsked = entry.a === true && entry.d > now;
      if (!isAsked && (codes === undefined || codes.has(entry.e ?? ''))) ids.add(id);
    }
    const pipeline = this.#redis.pipeline();
    for (const id of ids) pipeline.zadd(due, 'XX', now, id);
    await sendAll(pipeline);
    return ids.size;
  }

  async takeBack(target: string, now: Instant, toleranceMs: number): Promise<void> {
    const { outbox, due } = this.#keysOf(target);
    await scripts.takeBack(this.#redis, [outbox, due], [now, now + toleranceMs, LOOKED_AT_IN_ONE_GO]);
  }

  async abandon(target: string, recordIds: readonly string[], lease: Lease): Promise<void> {
    const { outbox, due, failing } = this.#keysOf(target);
    for (const slice of slices(recordIds, 500)) {
      await scripts.abandon(this.#redis, lease, [outbox, due, failing], slice);
    }
  }

  async clear(target: string): Promise<void> {
    await this.#redis.unlink(...Object.values(this.#keysOf(target)));
  }

  async pendingOf(target: string, recordId: string): Promise<PendingChange | null> {
    return (await this.pendingOfSome(target, [recordId])).get(recordId) ?? null;
  }

  async pendingOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, PendingChange>> {
    if (recordIds.length === 0) return new Map();
    const values = await this.#redis.hmget(this.#keysOf(target).outbox, ...recordIds);
    const pending = recordIds.flatMap((id, at) => {
      const entry = this.#stored(values[at] ?? null);
      return entry === null ? [] : [[id, toPending(id, entry)] as const];
    });
    return new Map(pending);
  }

  async contentsOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, Item | null>> {
    if (recordIds.length === 0) return new Map();
    const values = await this.#redis.hmget(this.#keysOf(target).outbox, ...recordIds);
    const entryOf = (id: string, at: number) =>
      readableEntry(id, values[at] ?? null, this.#sealer, sealContext(target, id));
    return new Map(recordIds.map((id, at) => [id, entryOf(id, at)?.item ?? null]));
  }

  async recordIds(target: string): Promise<{ waiting: string[]; failing: string[] }> {
    const { outbox, failing } = this.#keysOf(target);
    const [all, failed] = await Promise.all([this.#redis.hkeys(outbox), this.#redis.zrange(failing, '0', '-1')]);
    const isFailing = new Set(failed);
    return { waiting: all.filter((id) => !isFailing.has(id)).sort(), failing: failed.sort() };
  }

  async oldestAt(target: string): Promise<Instant | null> {
    const { outbox, due } = this.#keysOf(target);
    const [oldest] = await this.#redis.zrangebyscore(due, '-inf', '+inf', 'LIMIT', 0, 1);
    if (oldest === undefined) return null;
    return this.#stored(await this.#redis.hget(outbox, oldest))?.q ?? null;
  }

  async counts(target: string): Promise<{ pending: number; failing: number }> {
    const { outbox, failing } = this.#keysOf(target);
    const [pending, failed] = await Promise.all([this.#redis.hlen(outbox), this.#redis.zcard(failing)]);
    return { pending, failing: failed };
  }

  async nextDueAt(target: string): Promise<Instant | null> {
    const { due } = this.#keysOf(target);
    const [, score] = await this.#redis.zrangebyscore(due, '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
    return score === undefined ? null : Number(score);
  }

  /** A damaged change counts as absent until its due time, when {@link due} removes the change. */
  #stored(value: string | null): StoredEntry | null {
    return value === null ? null : readStored({ owner: this.#tenant, kind: 'outbox' }, () => parseEntry(value));
  }

  #keysOf(target: string): { outbox: string; due: string; failing: string } {
    return {
      outbox: keys.outbox(this.#tenant, target),
      due: keys.outboxDue(this.#tenant, target),
      failing: keys.outboxFailing(this.#tenant, target),
    };
  }

  /** Yields all changes; a change may appear twice (HSCAN), and concurrent changes may be missing. */
  async *#storedEntries(target: string): AsyncGenerator<[string, StoredEntry]> {
    const { outbox } = this.#keysOf(target);
    let cursor = '0';
    do {
      const [next, fields] = await this.#redis.hscan(outbox, cursor, 'COUNT', ENTRIES_AT_ONCE);
      for (const [id, value] of pairsOf(fields)) {
        const entry = this.#stored(value);
        if (entry !== null) yield [id, entry];
      }
      cursor = next;
    } while (cursor !== '0');
  }
}

/** Returns the seal's context for an item. */
function sealContext(target: string, recordId: string): string {
  return `outbox/${target}/${recordId}`;
}
