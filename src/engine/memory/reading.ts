import type { Lookup } from '../../core/model/snapshots.ts';
import { type Instant, overlaps, SECOND_MS, type TimeSpan, type TimeWindow } from '../../core/model/time.ts';
import type { Confirmations, CycleFacts, Listing, Projections, Reading, SingleReads, TargetInput } from '../ports.ts';
import type { Reach } from '../target.ts';
import { type MemoryRecord, spanOf } from './items.ts';
import { type MemoryShown, projectionOf, type StreamShown } from './projection.ts';

/** The list of one stream, as read. */
export interface ListRead {
  records: ReadonlyMap<string, MemoryRecord>;
  tombstones: readonly string[];
  isComplete: boolean;
  /** Code of why the list could not be read; null if it was. */
  unread: string | null;
}

/** What a reading consists of. */
export interface ReadingParts {
  reach: Reach;
  startedAt: Instant;
  /** Window of all targets, and the part of it that was read. */
  window: TimeWindow;
  windowRead: TimeWindow;
  lists: ReadonlyMap<string, ListRead>;
  readAlone(stream: string, recordId: string): Promise<Lookup<MemoryRecord>>;
}

/** What individual fetches found, for extensions. */
export interface MemoryLearned {
  /** By stream. */
  found: ReadonlyMap<string, readonly MemoryRecord[]>;
  vanished: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What a source in memory said in one cycle. */
export class MemoryReading implements Reading<MemoryShown> {
  readonly #parts: ReadingParts;

  constructor(parts: ReadingParts) {
    this.#parts = parts;
  }

  get reach(): Reach {
    return this.#parts.reach;
  }

  get startedAt(): Instant {
    return this.#parts.startedAt;
  }

  get streamNames(): readonly string[] {
    return [...this.#parts.lists.keys()];
  }

  get completeness(): 'complete' | 'partial' {
    return [...this.#parts.lists.values()].every(({ isComplete }) => isComplete) ? 'complete' : 'partial';
  }

  unreadFor({ stream }: MemoryShown): string | null {
    return this.#list(stream)?.unread ?? null;
  }

  windowOf(): TimeWindow {
    return this.#parts.window;
  }

  windowReadOf(): TimeWindow {
    return this.#parts.windowRead;
  }

  listingOf({ stream }: MemoryShown): Listing | null {
    return this.listing(stream);
  }

  listing(stream: string): Listing | null {
    const list = this.#list(stream);
    if (list === null || list.unread !== null) return null;
    const { isComplete, records, tombstones } = list;
    const deleted = new Set(tombstones);
    return {
      ...{ isComplete, count: records.size },
      recordIds: () => records.keys(),
      isListed: (recordId) => records.has(recordId) || deleted.has(recordId),
    };
  }

  streamsOf({ stream }: MemoryShown): readonly string[] {
    return [stream];
  }

  expectedLinks({ stream }: MemoryShown): number {
    return this.#list(stream)?.records.size ?? 0;
  }

  asOf(): Instant {
    return this.startedAt;
  }

  isWhole({ stream }: MemoryShown): boolean {
    return this.listing(stream)?.isComplete === true;
  }

  contentKey({ stream }: MemoryShown): () => string {
    return () => JSON.stringify([...(this.#list(stream)?.records.values() ?? []), ...this.#tombstonesOf(stream)]);
  }

  spansOf({ stream }: MemoryShown): ReadonlyMap<string, TimeSpan> {
    return new Map([...(this.#list(stream)?.records ?? [])].map(([id, record]) => [id, spanOf(record)]));
  }

  passedOver(): Readonly<Record<string, number>> {
    return {};
  }

  gaps(): ReturnType<Reading['gaps']> {
    return new Map();
  }

  single(stream: string): SingleReads {
    const { startedAt: readAt, readAlone, windowRead } = this.#parts;
    const single: SingleReads<MemoryRecord> = {
      readAt,
      readAlone: (recordId) => readAlone(stream, recordId),
      belongsOnList(record, startsBefore) {
        const { startAt } = spanOf(record);
        const isUnmoved = startsBefore.some((before) => Math.abs(before - startAt) < SECOND_MS);
        return isUnmoved && overlaps(spanOf(record), windowRead);
      },
    };
    return single as SingleReads;
  }

  async confirmed(confirmations: Confirmations): Promise<this> {
    const marked = ([stream, list]: [string, ListRead]): [string, ListRead] => {
      const isRefuted = (confirmations[stream]?.unlisted ?? 0) > 0;
      return [stream, isRefuted ? { ...list, isComplete: false } : list];
    };
    const lists = new Map([...this.#parts.lists].map(marked));
    return new MemoryReading({ ...this.#parts, lists }) as this;
  }

  projections(facts: CycleFacts<TargetInput<MemoryShown>>): Projections<TargetInput<MemoryShown>> {
    return {
      groups: (targets) => [targets],
      of: (input) => projectionOf(input, facts, this.#shownOf(input.target)),
      computesFrom: () => [],
      planned() {},
    };
  }

  #shownOf({ stream }: MemoryShown): StreamShown {
    const { window, windowRead } = this.#parts;
    const records = this.#list(stream)?.records ?? new Map<string, MemoryRecord>();
    return { window, windowRead, records, tombstones: this.#tombstonesOf(stream) };
  }

  recordFound(): void {}

  learned(confirmations: Confirmations, provesNothing: boolean): MemoryLearned {
    const all = Object.entries(confirmations);
    return {
      found: new Map(all.map(([stream, { found }]) => [stream, found as MemoryRecord[]])),
      vanished: new Map(all.map(([stream, { vanished }]) => [stream, provesNothing ? new Set() : vanished])),
    };
  }

  #list(stream: string): ListRead | null {
    return this.#parts.lists.get(stream) ?? null;
  }

  #tombstonesOf(stream: string): readonly string[] {
    return this.#list(stream)?.tombstones ?? [];
  }
}
