import { entriesAfter } from '../kit/change-log.ts';
import type { EventBody } from './event-fields.ts';

/** The fields of a stored event that come from the client. */
export type EventContent = Omit<
  EventBody,
  | 'id'
  | 'iCalUID'
  | 'sequence'
  | 'status'
  | 'organizer'
  | 'kind'
  | 'etag'
  | 'htmlLink'
  | 'hangoutLink'
  | 'created'
  | 'updated'
  | 'creator'
  | 'locked'
  | 'privateCopy'
  | 'attendeesOmitted'
>;

/** An organizer. */
export type Person = NonNullable<EventBody['organizer']>;

/** One event of one calendar. Never changed in place: a write stores a new one under the same id. */
export interface StoredEvent {
  id: string;
  iCalUID: string;
  sequence: number;
  status: 'confirmed' | 'tentative' | 'cancelled';
  content: EventContent;
  creator: string;
  organizer: Person;
  privateCopy: boolean;
  /** Epoch ms. */
  createdAt: number;
  updatedAt: number;
  startMs: number;
  endMs: number;
  /** Number of the write that made this version; grows over the whole sandbox. */
  change: number;
}

/** The events of one calendar, cancelled ones included, with the indexes that keep 100,000 of them fast. */
export class EventStore {
  readonly #byId = new Map<string, StoredEvent>();
  readonly #byICalUID = new Map<string, string>();
  readonly #purged = new Set<string>();
  readonly #byProperty = new Map<string, Set<string>>();
  /** Every write in order; entries whose event was written again since are stale. */
  #log: { change: number; id: string }[] = [];

  get(id: string): StoredEvent | undefined {
    return this.#byId.get(id);
  }

  /** Whether an event has or had the id, be it out of reach by now. */
  isTaken(id: string): boolean {
    return this.#byId.has(id) || this.#purged.has(id);
  }

  /** The event can't be read any more, and its id is not free again. */
  purge(event: StoredEvent): void {
    this.#unindex(event);
    this.#byId.delete(event.id);
    this.#byICalUID.delete(event.iCalUID);
    this.#purged.add(event.id);
  }

  get size(): number {
    return this.#byId.size;
  }

  values(): IterableIterator<StoredEvent> {
    return this.#byId.values();
  }

  findByICalUID(iCalUID: string): StoredEvent | undefined {
    const id = this.#byICalUID.get(iCalUID);
    return id === undefined ? undefined : this.#byId.get(id);
  }

  /** Events that carry the property (`name=value`) on this side, cancelled ones included. */
  withProperty(side: 'private' | 'shared', constraint: string): StoredEvent[] {
    const ids = this.#byProperty.get(`${side} ${constraint}`) ?? [];
    return [...ids].map((id) => this.#byId.get(id)!);
  }

  put(event: StoredEvent): void {
    const before = this.#byId.get(event.id);
    if (before) {
      this.#unindex(before);
    }
    this.#byId.set(event.id, event);
    this.#byICalUID.set(event.iCalUID, event.id);
    for (const key of propertyKeys(event)) {
      const ids = this.#byProperty.get(key);
      if (ids) {
        ids.add(event.id);
      } else {
        this.#byProperty.set(key, new Set([event.id]));
      }
    }
    this.#log.push({ change: event.change, id: event.id });
    if (this.#log.length > 2 * this.#byId.size + 1000) {
      this.#log = this.#log.filter((entry) => this.#isCurrent(entry));
    }
  }

  /** The events written after the given change, in order of their last write. */
  changedSince(change: number): StoredEvent[] {
    return entriesAfter(this.#log, change)
      .filter((entry) => this.#isCurrent(entry))
      .map((entry) => this.#byId.get(entry.id)!);
  }

  #unindex(event: StoredEvent): void {
    for (const key of propertyKeys(event)) {
      const ids = this.#byProperty.get(key);
      ids?.delete(event.id);
      if (ids?.size === 0) {
        this.#byProperty.delete(key);
      }
    }
  }

  #isCurrent(entry: { change: number; id: string }): boolean {
    return this.#byId.get(entry.id)?.change === entry.change;
  }
}

function propertyKeys(event: StoredEvent): string[] {
  const { extendedProperties } = event.content;
  return (['private', 'shared'] as const).flatMap((side) =>
    Object.entries(extendedProperties?.[side] ?? {}).map(([key, value]) => `${side} ${key}=${value}`),
  );
}
