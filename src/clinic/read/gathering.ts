import { eachInPieces, type Pieces } from '../../core/model/pieces.ts';
import type { Appointment, InvalidRow } from '../../core/model/records.ts';
import type { PartialReason } from '../../core/model/snapshots.ts';
import { type Instant, sameOverlaps, type TimeSpan, type TimeWindow } from '../../core/model/time.ts';
import type { Mapped } from '../http/rows.ts';
import { isForeign } from './reading.ts';

/** Returns whether a record is in the requested window and agendas. */
export type IsWanted = (record: Appointment) => boolean;

/** Rows of one page; a cached page has the same array in each read. */
export type RowsOfPage = readonly Mapped<Appointment>[];

/** Collected records of a window. */
export interface Gathered extends Omit<GatheredRows, 'newestAt'> {
  pages: number;
  requests: number;
  /** Repeated rows of list calls with a proven end. */
  repeated: number;
  reason: PartialReason | null;
}

/** Rows of a read, as the snapshot shows them. */
export interface GatheredRows {
  records: Map<string, Appointment>;
  unusable: Map<string, InvalidRow>;
  withoutId: InvalidRow[];
  /** Names of unreadable fields by record id. */
  unread: Map<string, readonly string[]>;
  /** The newest time of change; null without records, or if a record has none. */
  newestAt: Instant | null;
}

/** The pages of a complete read with their result, which equal pages have again. */
export interface ReusableReading {
  pages: readonly RowsOfPage[];
  /** Returns whether the pages have the same records in another window. */
  holdsIn(window: TimeWindow): boolean;
  rows: GatheredRows;
}

export function nothingGathered(): Gathered {
  const none = { pages: 0, requests: 0, repeated: 0, reason: null };
  return { records: new Map(), unusable: new Map(), withoutId: [], unread: new Map(), ...none };
}

/**
 * Collects the records of a read page by page. While every page is the same object as in the reusable read, no row is read; if all are,
 * the result is the reusable one. Rows of another tenant are never in a reusable read.
 */
export class Gathering {
  readonly #gathered: Gathered;
  readonly #isWanted: IsWanted;
  readonly #before: ReusableReading | null;
  readonly #pages: RowsOfPage[] = [];
  /** Number of pages whose rows were read. */
  #looked = 0;
  /** Number of first pages that equal those of the reusable read. */
  #same = 0;

  /** @param before complete read of the same agendas, and of a window with the same records; null for none */
  constructor(gathered: Gathered, isWanted: IsWanted, before: ReusableReading | null) {
    this.#gathered = gathered;
    this.#isWanted = isWanted;
    this.#before = before;
  }

  /** Adds the pages of one list call. */
  *add(pages: readonly RowsOfPage[]): Pieces<void> {
    for (const page of pages) {
      if (this.#same === this.#pages.length && page === this.#before?.pages[this.#same]) this.#same += 1;
      this.#pages.push(page);
    }
    if (this.#same < this.#pages.length) yield* this.#look();
  }

  /** Returns the result, after the last page. */
  *end(): Pieces<GatheredRows> {
    if (this.#before !== null && this.#same === this.#before.pages.length && this.#same === this.#pages.length) {
      return this.#before.rows;
    }
    yield* this.#look();
    const { records, unusable, withoutId, unread } = this.#gathered;
    for (const id of unusable.keys()) records.delete(id);
    return { records, unusable, withoutId, unread, newestAt: newestIn(records.values()) };
  }

  /** Returns the read for the next read. @param rows result of {@link end} @param window window of the result */
  reusable(rows: GatheredRows, window: TimeWindow): ReusableReading {
    if (this.#before?.rows === rows) return this.#before;
    const { look, holdsIn } = sameOverlaps(window);
    for (const time of timesIn(this.#pages)) look(time);
    return { pages: this.#pages, holdsIn, rows };
  }

  *#look(): Pieces<void> {
    while (this.#looked < this.#pages.length) {
      const page = this.#pages[this.#looked] ?? [];
      this.#looked += 1;
      yield* eachInPieces(page, (row) => retain(this.#gathered, row, this.#isWanted));
    }
  }
}

/** Keeps the version with the later change; without a time of change, the version read later. */
function retain(gathered: Gathered, mapped: Mapped<Appointment>, isWanted: IsWanted): void {
  if ('unusable' in mapped) {
    const { recordId } = mapped.unusable;
    if (isForeign(mapped.unusable)) gathered.reason ??= 'wrong-tenant';
    if (recordId === null) gathered.withoutId.push(mapped.unusable);
    else gathered.unusable.set(recordId, mapped.unusable);
    return;
  }
  const { record } = mapped;
  const existing = gathered.records.get(record.id);
  if (existing !== undefined && (existing.updatedAt ?? 0) > (record.updatedAt ?? existing.updatedAt ?? 0)) return;
  if (gathered.unusable.size > 0) gathered.unusable.delete(record.id);
  if (gathered.unread.size > 0) gathered.unread.delete(record.id);
  if (isWanted(record)) {
    gathered.records.set(record.id, record);
    if (mapped.unread !== undefined) gathered.unread.set(record.id, mapped.unread);
  } else if (existing !== undefined) gathered.records.delete(record.id);
}

function* timesIn(pages: readonly RowsOfPage[]): Generator<TimeSpan> {
  for (const page of pages) for (const row of page) if ('record' in row) yield row.record.time;
}

/** Returns the newest time of change; null without records, or if a record has no time of change. */
export function newestIn(records: Iterable<Appointment>): Instant | null {
  let newestAt: Instant | null = null;
  for (const { updatedAt } of records) {
    if (updatedAt === null) return null;
    newestAt = Math.max(newestAt ?? updatedAt, updatedAt);
  }
  return newestAt;
}
