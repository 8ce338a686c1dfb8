import type { Link } from '../../core/model/operations.ts';
import type { PendingChange, PlannedChange } from '../../core/model/plan.ts';
import type { Instant } from '../../core/model/time.ts';
import type { ChangeTable, Lease, OutboxEntry, OutboxSettlement } from '../store.ts';
import type { MemoryLeases } from './leases.ts';
import type { MemoryLinks } from './links.ts';
import type { MemoryTargets } from './targets.ts';

/** A stored change. `nextAt` orders the outbox: a hurried change keeps the due time of its last failure. */
interface Stored extends OutboxEntry {
  nextAt: Instant;
  /** The vendor requested the wait. */
  isAsked: boolean;
  hasFailed: boolean;
}

/** Changes of one target. */
interface Table {
  changes: Map<string, Stored>;
  /** Last revision. */
  revision: number;
  /** Records whose objects were removed and not created again. */
  takenOut: Set<string>;
}

/** What the outbox changes together with its entries. */
interface OutboxParts {
  leases: Pick<MemoryLeases, 'check'>;
  links: MemoryLinks;
  targets: Pick<MemoryTargets, 'recordOf' | 'overtake' | 'recordWritten'>;
}

/** Outboxes in memory. Each method is one atomic step. Journals of runs are not recorded. */
export class MemoryOutbox implements ChangeTable {
  readonly #parts: OutboxParts;
  readonly #tables = new Map<string, Table>();

  constructor(parts: OutboxParts) {
    this.#parts = parts;
  }

  async pending(target: string): Promise<Map<string, PendingChange>> {
    return new Map([...this.#changesOf(target)].map(([recordId, change]) => [recordId, toPending(change)]));
  }

  async pendingOf(target: string, recordId: string): Promise<PendingChange | null> {
    return (await this.pendingOfSome(target, [recordId])).get(recordId) ?? null;
  }

  async pendingOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, PendingChange>> {
    const pending = await this.pending(target);
    return new Map([...pending].filter(([recordId]) => recordIds.includes(recordId)));
  }

  async counts(target: string): Promise<{ pending: number; failing: number }> {
    const all = [...this.#changesOf(target).values()];
    return { pending: all.length, failing: all.filter(({ hasFailed }) => hasFailed).length };
  }

  /** Returns the number of waiting changes, for a table that reads it in one step with its own values. */
  countOf(target: string): number {
    return this.#changesOf(target).size;
  }

  async put(
    target: string,
    changes: readonly PlannedChange[],
    { now, lease, run = null }: { now: Instant; lease: Lease; run?: string | null },
  ): Promise<void> {
    if (changes.length === 0) return;
    this.#parts.leases.check(lease);
    const table = this.#tableOf(target);
    for (const change of changes) {
      const before = table.changes.get(change.recordId);
      table.revision += 1;
      const sent = { sent: before?.sent ?? false, sentAt: before?.sentAt ?? null, idAttempt: before?.idAttempt ?? 0 };
      table.changes.set(change.recordId, { ...newChange(change, now), revision: table.revision, run, ...sent });
    }
  }

  /** Returns at most `limit` due changes, oldest first. */
  async due(target: string, now: Instant, limit: number): Promise<OutboxEntry[]> {
    return this.#inOrder(target)
      .filter(({ nextAt }) => nextAt <= now)
      .slice(0, limit)
      .map(({ nextAt: _, isAsked: __, hasFailed: ___, ...change }) => change);
  }

  async markSent(target: string, entries: readonly OutboxEntry[], now: Instant, lease: Lease): Promise<void> {
    this.#mark(target, entries, { sent: true, sentAt: now }, lease);
  }

  async markUnsent(target: string, entries: readonly OutboxEntry[], lease: Lease): Promise<void> {
    this.#mark(target, entries, { sent: false, sentAt: null }, lease);
  }

  async postpone(target: string, times: ReadonlyMap<string, Instant>, lease: Lease): Promise<void> {
    this.#parts.leases.check(lease);
    for (const [recordId, nextAt] of times) this.#update(target, recordId, { nextAt });
  }

  async raiseRevision(target: string, found: number, lease: Lease): Promise<void> {
    this.#parts.leases.check(lease);
    this.#raise(target, found);
  }

  /** Applies results to links and outbox. @param by.recordTakenOut whether to remember removed objects until they are created again */
  async complete(
    target: string,
    settlements: readonly OutboxSettlement[],
    { now, lease, recordTakenOut = false }: { now: Instant; lease: Lease; recordTakenOut?: boolean },
  ): Promise<void> {
    const { leases, links, targets } = this.#parts;
    leases.check(lease);
    const written = new Map<string, Link | null>();
    for (const settlement of settlements) {
      if ('link' in settlement) written.set(settlement.entry.recordId, settlement.link);
      if (settlement.kind === 'done') {
        this.#recordDone(target, settlement, { now, recordTakenOut });
        targets.recordWritten(target, now);
      }
      if (settlement.kind === 'superseded') {
        this.#raise(target, settlement.found);
        targets.overtake(target);
      }
      this.#recordResult(target, settlement, now);
    }
    links.change(target, written);
  }

  /** Returns the given records whose objects were removed and not created again. */
  async takenOut(target: string, recordIds: readonly string[]): Promise<Set<string>> {
    const { takenOut } = this.#tableOf(target);
    return new Set(recordIds.filter((recordId) => takenOut.has(recordId)));
  }

  async abandon(target: string, recordIds: readonly string[], lease: Lease): Promise<void> {
    if (recordIds.length === 0) return;
    this.#parts.leases.check(lease);
    const changes = this.#changesOf(target);
    for (const recordId of recordIds) if (changes.get(recordId)?.reason !== 'forgotten') changes.delete(recordId);
  }

  async clear(target: string): Promise<void> {
    this.#changesOf(target).clear();
  }

  async hurry(target: string, now: Instant, codes?: ReadonlySet<string>): Promise<number> {
    const isMeant = ({ isAsked, dueAt, lastError }: Stored) =>
      !(isAsked && dueAt > now) && (codes === undefined || codes.has(lastError ?? ''));
    const hurried = [...this.#changesOf(target).values()].filter(isMeant);
    for (const { recordId } of hurried) this.#update(target, recordId, { nextAt: now });
    return hurried.length;
  }

  async takeBack(target: string, now: Instant, toleranceMs: number): Promise<void> {
    const latest = now + toleranceMs;
    for (const { recordId, nextAt, enqueuedAt, sentAt } of this.#inOrder(target)) {
      const isSentLater = (sentAt ?? 0) > latest;
      if (nextAt <= now || (enqueuedAt <= latest && !isSentLater)) continue;
      const times = { enqueuedAt: Math.min(enqueuedAt, now), dueAt: now, nextAt: now };
      this.#update(target, recordId, { ...times, ...(isSentLater ? { sentAt: now } : {}) });
    }
  }

  /** Returns when the next change is due, or null. */
  async nextDueAt(target: string): Promise<Instant | null> {
    return this.#inOrder(target)[0]?.nextAt ?? null;
  }

  #recordDone(
    target: string,
    { entry: { recordId }, link }: Extract<OutboxSettlement, { kind: 'done' }>,
    { now, recordTakenOut }: { now: Instant; recordTakenOut: boolean },
  ): void {
    const { takenOut, changes } = this.#tableOf(target);
    const { unseen } = this.#parts.links.tableOf(target);
    // Records nothing about a record whose erasure is pending.
    const isForgotten = changes.get(recordId)?.reason === 'forgotten';
    if (isForgotten || link !== null) takenOut.delete(recordId);
    else if (recordTakenOut) takenOut.add(recordId);
    if (isForgotten) unseen.delete(recordId);
    else if (this.#parts.targets.recordOf(target).cursor !== null) unseen.set(recordId, now);
  }

  /** Changes the entry of a result. A newer change of the record stays. */
  #recordResult(target: string, settlement: OutboxSettlement, now: Instant): void {
    const { recordId, revision } = settlement.entry;
    const changes = this.#changesOf(target);
    const current = changes.get(recordId);
    if (current === undefined) return;
    const isSame = current.revision === revision;
    if (settlement.kind === 'next-epoch') {
      const idAttempt = settlement.entry.idAttempt + 1;
      this.#update(target, recordId, { idAttempt, attempts: 0, nextAt: now });
    } else if (settlement.kind === 'retry') {
      if (isSame) changes.set(recordId, failed(current, settlement));
    } else if (isSame) {
      changes.delete(recordId);
    } else {
      this.#update(target, recordId, { sent: false, hasFailed: false });
    }
  }

  #mark(target: string, entries: readonly OutboxEntry[], sent: Pick<Stored, 'sent' | 'sentAt'>, lease: Lease): void {
    this.#parts.leases.check(lease);
    for (const { recordId } of entries) this.#update(target, recordId, sent);
  }

  #update(target: string, recordId: string, fields: Partial<Stored>): void {
    const changes = this.#changesOf(target);
    const before = changes.get(recordId);
    if (before !== undefined) changes.set(recordId, { ...before, ...fields });
  }

  #raise(target: string, found: number): void {
    const table = this.#tableOf(target);
    table.revision = Math.max(table.revision, found);
  }

  #inOrder(target: string): Stored[] {
    const byId = [...this.#changesOf(target).values()].sort((one, other) => (one.recordId < other.recordId ? -1 : 1));
    return byId.sort((one, other) => one.nextAt - other.nextAt);
  }

  #changesOf(target: string): Map<string, Stored> {
    return this.#tableOf(target).changes;
  }

  #tableOf(target: string): Table {
    const table = this.#tables.get(target) ?? { changes: new Map(), revision: 0, takenOut: new Set() };
    this.#tables.set(target, table);
    return table;
  }
}

function failed(
  { about: _, ...before }: Stored,
  { error: lastError, about, dueAt, parked, isAsked = false }: Extract<OutboxSettlement, { kind: 'retry' }>,
): Stored {
  const next = { attempts: before.attempts + 1, lastError, dueAt, nextAt: dueAt, parked, isAsked, hasFailed: true };
  return { ...before, ...next, ...(about === undefined ? {} : { about }) };
}

function newChange(
  { recordId, reason, wanted, replaces }: PlannedChange,
  now: Instant,
): Omit<Stored, 'revision' | 'run' | 'sent' | 'sentAt' | 'idAttempt'> {
  const { want, startAt, endAt } = wanted;
  const content =
    want === 'present' ? { fingerprint: wanted.fingerprint, item: wanted.item } : { fingerprint: null, item: null };
  return {
    ...{ recordId, reason, want, startAt, endAt, ...content, attempts: 0, lastError: null, parked: false },
    ...{ enqueuedAt: now, dueAt: now, nextAt: now, isAsked: false, hasFailed: false },
    ...(replaces === undefined ? {} : { replaces }),
  };
}

function toPending(stored: Stored): PendingChange {
  const { recordId, reason, want, fingerprint, startAt, endAt, attempts, lastError, about, ...rest } = stored;
  const { sent, parked, enqueuedAt, dueAt } = rest;
  return {
    ...{ recordId, reason, want, fingerprint, startAt, endAt, attempts, lastError, sent, parked, enqueuedAt, dueAt },
    ...(about === undefined ? {} : { about }),
  };
}
