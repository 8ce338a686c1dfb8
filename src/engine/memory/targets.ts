import { DAY_MS, HOUR_MS, type Instant } from '../../core/model/time.ts';
import type { GoneCounts, GoneReason, GuardInput } from '../guard.ts';
import type { IdleRecord, Lease, StoredTarget, TargetCounter, TargetSummary, TargetTable } from '../store.ts';
import type { MemoryLeases } from './leases.ts';
import type { MemoryLinks } from './links.ts';

const WEEK_MS = 7 * DAY_MS;

/** Counters of targets that no record starts with. */
const NO_COUNTS = { created: 0, updated: 0, deleted: 0, adopted: 0, overtaken: 0 };

/** State of a target before its preparation. */
const NEW: StoredTarget = {
  ...{ container: null, adoptedAt: null, wentBackAt: null, plannedAsOf: null, soonAsOf: null, idleAsOf: null },
  ...{
    writtenOnceAt: null,
    lastWrittenAt: null,
    lastPlannedAt: null,
    plannedUnder: null,
    comparableUnder: null,
    firstRunApprovedAt: null,
  },
  ...{ replacedAt: null, failure: null, unconfirmed: 0, gaps: null, drift: null, cursor: null, readWholeAt: null },
  ...{ lookedOutsideTo: null, pausedUntil: null, pausedAt: null, outage: null, ...NO_COUNTS, ambiguous: 0 },
  ...{ copies: [], notRemovedByPolicy: [], notUpdatedByPolicy: [], refusedThere: {}, readBack: null },
};

/** First misses of a stream. They expire together. */
interface StoredMisses {
  missedSince: ReadonlyMap<string, Instant>;
  expiresAt: Instant;
}

/** What the tables of targets read from others. */
interface TargetParts {
  leases: Pick<MemoryLeases, 'check'>;
  links: Pick<MemoryLinks, 'versionOf'>;
  /** Number of changes in a target's outbox. */
  countPending(target: string): number;
  now(): Instant;
}

/** States of targets in memory. */
export class MemoryTargets implements TargetTable {
  readonly #parts: TargetParts;
  readonly #records = new Map<string, StoredTarget>();
  /** Departures of each target by whole hours since 1970. */
  readonly #gone = new Map<string, Map<number, Record<GoneReason, number>>>();
  /** Restorations by target and day since 1970. */
  readonly #restorations = new Map<string, Map<string, number>>();
  readonly #misses = new Map<string, StoredMisses>();

  constructor(parts: TargetParts) {
    this.#parts = parts;
  }

  async read(target: string): Promise<StoredTarget> {
    return this.recordOf(target);
  }

  /** Returns a target's state. Without a container, its objects were not read. */
  recordOf(target: string): StoredTarget {
    const record = this.#records.get(target) ?? NEW;
    return record.container === null ? { ...record, adoptedAt: null } : record;
  }

  async summarize(targets: readonly string[]): Promise<Map<string, TargetSummary>> {
    const { links, countPending } = this.#parts;
    return new Map(
      targets.map((target) => [
        target,
        { record: this.recordOf(target), linksVersion: links.versionOf(target), pending: countPending(target) },
      ]),
    );
  }

  async write(target: string, fields: Partial<Omit<StoredTarget, TargetCounter>>): Promise<void> {
    this.#change(target, fields);
  }

  async recordIdle(looked: ReadonlyMap<string, string | null>, idle: IdleRecord, lease: Lease): Promise<void> {
    const { leases, links, countPending } = this.#parts;
    if (looked.size > 0) leases.check(lease);
    const { plannedAt, plannedUnder, asOf } = idle;
    for (const [target, version] of looked) {
      const { adoptedAt, failure } = this.recordOf(target);
      const isAsLooked = links.versionOf(target) === version && countPending(target) === 0;
      if (!isAsLooked || adoptedAt === null || failure !== null) continue;
      const planned = { lastPlannedAt: plannedAt, plannedUnder, comparableUnder: plannedUnder, gaps: null };
      const fresh = asOf === null ? {} : { plannedAsOf: asOf, idleAsOf: asOf, unconfirmed: 0 };
      this.#change(target, { ...planned, ...fresh });
    }
  }

  async recordFreshness(
    target: string,
    overtaken: number,
    { plannedAsOf, isIdle }: { plannedAsOf: Instant; tookMs: number; isIdle: boolean },
  ): Promise<void> {
    if (this.recordOf(target).overtaken !== overtaken) return;
    this.#change(target, { plannedAsOf, ...(isIdle ? { idleAsOf: plannedAsOf } : {}) });
  }

  /** Records that the target differs from the plan. */
  async recordOvertaken(target: string): Promise<void> {
    this.overtake(target);
  }

  /** As {@link MemoryTargets.recordOvertaken}, in one step with other changes. */
  overtake(target: string): void {
    this.#change(target, { plannedAsOf: null, overtaken: this.recordOf(target).overtaken + 1 });
  }

  /** Records that the target confirmed a write, in one step with other changes. */
  recordWritten(target: string, now: Instant): void {
    this.#change(target, { lastWrittenAt: now });
  }

  async count(target: string, counters: Partial<Record<TargetCounter, number>>): Promise<void> {
    const record = this.recordOf(target);
    for (const [name, by] of Object.entries(counters) as [TargetCounter, number][])
      this.#change(target, { [name]: record[name] + by });
  }

  async recordGone(target: string, counts: GoneCounts, now: Instant): Promise<void> {
    if (Object.values(counts).every((count) => count === 0)) return;
    const hours = this.#gone.get(target) ?? new Map<number, Record<GoneReason, number>>();
    this.#gone.set(target, hours);
    for (const hour of hours.keys()) if (hour < hoursAt(now - WEEK_MS)) hours.delete(hour);
    hours.set(hoursAt(now), sumOf([hours.get(hoursAt(now)) ?? nothingGone(), counts]));
  }

  async gone(target: string, now: Instant): Promise<GuardInput['gone']> {
    const hours = [...(this.#gone.get(target) ?? [])];
    const since = (fromAt: Instant) =>
      sumOf(hours.flatMap(([hour, counts]) => (hour >= hoursAt(fromAt) ? counts : [])));
    return { hour: since(now - HOUR_MS), week: since(now - WEEK_MS) };
  }

  async restorations(target: string, now: Instant): Promise<ReadonlyMap<string, number>> {
    return new Map(this.#restorations.get(dayKey(target, now)));
  }

  /** Counts one more restoration today for each object. */
  async countRestorations(target: string, recordIds: readonly string[], now: Instant): Promise<void> {
    const counts = this.#restorations.get(dayKey(target, now)) ?? new Map<string, number>();
    this.#restorations.set(dayKey(target, now), counts);
    for (const recordId of recordIds) counts.set(recordId, (counts.get(recordId) ?? 0) + 1);
  }

  async misses(stream: string): Promise<Map<string, Instant>> {
    const stored = this.#misses.get(stream);
    return new Map(stored !== undefined && stored.expiresAt > this.#parts.now() ? stored.missedSince : []);
  }

  async storeMisses(stream: string, misses: ReadonlyMap<string, Instant>): Promise<void> {
    this.#misses.set(stream, { missedSince: new Map(misses), expiresAt: this.#parts.now() + WEEK_MS });
  }

  #change(target: string, fields: Partial<StoredTarget>): void {
    this.#records.set(target, { ...this.recordOf(target), ...fields });
  }
}

function nothingGone(): Record<GoneReason, number> {
  return { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };
}

function sumOf(all: readonly GoneCounts[]): Record<GoneReason, number> {
  const sums = nothingGone();
  for (const counts of all)
    for (const [reason, count] of Object.entries(counts) as [GoneReason, number][]) sums[reason] += count;
  return sums;
}

function hoursAt(at: Instant): number {
  return Math.floor(at / HOUR_MS);
}

function dayKey(target: string, now: Instant): string {
  return `${target} ${Math.floor(now / DAY_MS)}`;
}
