import type { Item } from '../../core/model/items.ts';
import { HOUR_MS, type Instant, overlaps, type TimeSpan } from '../../core/model/time.ts';
import type { SourceRecord } from '../diff.ts';
import type { ItemForm } from '../identity.ts';

/** A record of a source in memory. */
export interface MemoryRecord {
  id: string;
  title: string;
  /** Absent: the record has no time. */
  startAt?: Instant;
  /** Absent: an hour after the start. */
  endAt?: Instant;
  isCancelled?: boolean;
  /** The person whom the record concerns; absent for none. */
  subjectId?: string;
}

/** Content of an object: title and time. */
type TimedItem = Extract<Item, { title: string }>;

/** A record without a time fills all time. */
const ALWAYS: TimeSpan = { startAt: 0, endAt: 8.64e15 };

/** Returns the time of a record. */
export function spanOf({ startAt, endAt }: MemoryRecord): TimeSpan {
  return startAt === undefined ? ALWAYS : { startAt, endAt: endAt ?? startAt + HOUR_MS };
}

/** Returns a record as the comparison uses it. */
export function describeRecord(record: MemoryRecord): SourceRecord {
  const { id, isCancelled = false, subjectId = null } = record;
  return { id, isCancelled, subjectId, ...spanOf(record) };
}

/** Returns the object that shows a record. */
export function itemOf(record: MemoryRecord): Item {
  return itemAt(record.title, spanOf(record));
}

/** Returns an object with a title at a time. */
export function itemAt(title: string, { startAt, endAt }: TimeSpan): Item {
  const [start, end] = [new Date(startAt).toISOString(), new Date(endAt).toISOString()];
  const time = { kind: 'timed', start, end, zone: 'UTC' } as const;
  return { title, description: null, location: null, time, busy: true };
}

/** Returns the time of an object of {@link itemOf}. */
export function spanIn(item: Item): TimeSpan {
  const { time } = item as TimedItem;
  return time.kind === 'timed' ? { startAt: Date.parse(time.start), endAt: Date.parse(time.end) } : ALWAYS;
}

/** Returns the structure of the objects of a stream. */
export function memoryForm(stream: string): ItemForm {
  return {
    stream,
    fields: ['title', 'time'],
    needed: 2,
    unlike: ['time'],
    values(item) {
      const { title, time } = item as TimedItem;
      return [title, time];
    },
    whole: (texts) => texts,
    spanOf: spanIn,
    isShown: overlaps,
  };
}
