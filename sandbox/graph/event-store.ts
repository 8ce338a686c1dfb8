import { entriesAfter } from '../kit/change-log.ts';
import type { EventBody } from './event-fields.ts';
import { comparableValue } from './extended-properties.ts';

/** What a client may say of an event, every field filled in. */
export type EventContent = Required<Omit<EventBody, 'transactionId' | 'properties'>>;

/** One event of one mailbox. Never changed in place: a write stores a new version under the same immutable id. */
export interface StoredEvent {
  immutableId: string;
  /** The id in the default format; another one after each move. */
  restId: string;
  calendarId: string;
  iCalUId: string;
  transactionId: string | undefined;
  /** The request that made it, as text. */
  createdAs: string;
  content: EventContent;
  /** Single-value extended properties by canonical id. */
  properties: ReadonlyMap<string, string>;
  /** Epoch ms. */
  createdAt: number;
  updatedAt: number;
  startMs: number;
  endMs: number;
  /** True if the event is in Deleted Items, where only the mailbox's user sees it. */
  isDeleted: boolean;
  /** Number of the write that made this version; grows over the whole sandbox. */
  change: number;
}

/** A write as the delta feed of one calendar remembers it, with the id that the event had there. */
export interface LogEntry {
  change: number;
  immutableId: string;
  restId: string;
  calendarId: string;
}

/** A longer log drops its older half. Older delta links then find no state. */
const MOST_LOG_ENTRIES = 200_000;

/** The events of one mailbox, soft-deleted ones included, with the indexes that keep 20,000 of them fast. */
export class EventStore {
  readonly #byImmutableId = new Map<string, StoredEvent>();
  readonly #immutableIds = new Map<string, string>();
  readonly #byCalendar = new Map<string, Map<string, StoredEvent>>();
  readonly #byProperty = new Map<string, Set<string>>();
  readonly #transactions = new Map<string, string>();
  #log: LogEntry[] = [];
  #forgottenUntil = 0;

  /** An event by either of its ids, deleted or not. */
  get(id: string): StoredEvent | undefined {
    return this.#byImmutableId.get(this.#immutableIds.get(id) ?? id);
  }

  /** Every event of the mailbox, deleted ones included. */
  values(): IterableIterator<StoredEvent> {
    return this.#byImmutableId.values();
  }

  /** The events that a calendar shows, oldest first. */
  inCalendar(calendarId: string): Iterable<StoredEvent> {
    return this.#byCalendar.get(calendarId)?.values() ?? [];
  }

  /** The shown events of a calendar with this property value, whatever its case. */
  withProperty(calendarId: string, propertyId: string, value: string): StoredEvent[] {
    const ids = this.#byProperty.get(propertyKey(calendarId, propertyId, value)) ?? [];
    return [...ids].map((id) => this.#byImmutableId.get(id)!);
  }

  /** The id of the event that a transactionId made; it may be deleted by now. */
  madeBy(transactionId: string): string | undefined {
    return this.#transactions.get(transactionId);
  }

  put(event: StoredEvent): void {
    const before = this.#byImmutableId.get(event.immutableId);
    if (before) {
      this.#hide(before);
      this.#immutableIds.delete(before.restId);
      if (before.calendarId !== event.calendarId) {
        this.#note(event.change, before);
      }
    }
    this.#byImmutableId.set(event.immutableId, event);
    this.#immutableIds.set(event.restId, event.immutableId);
    if (event.transactionId !== undefined) {
      this.#transactions.set(event.transactionId, event.immutableId);
    }
    if (!event.isDeleted) {
      this.#show(event);
    }
    this.#note(event.change, event);
  }

  /** Removes an event permanently, also from Deleted Items. Its transactionId stays known. */
  purge(event: StoredEvent, change: number): void {
    this.#hide(event);
    this.#immutableIds.delete(event.restId);
    this.#byImmutableId.delete(event.immutableId);
    this.#note(change, event);
  }

  /** The writes to a calendar after the given change; undefined when they are forgotten in part. */
  loggedSince(change: number, calendarId: string): LogEntry[] | undefined {
    if (change < this.#forgottenUntil) {
      return undefined;
    }
    return entriesAfter(this.#log, change).filter((entry) => entry.calendarId === calendarId);
  }

  #note(change: number, { immutableId, restId, calendarId }: StoredEvent): void {
    this.#log.push({ change, immutableId, restId, calendarId });
    if (this.#log.length > MOST_LOG_ENTRIES) {
      const forgotten = this.#log.splice(0, MOST_LOG_ENTRIES / 2);
      this.#forgottenUntil = forgotten.at(-1)!.change;
    }
  }

  #show(event: StoredEvent): void {
    const shown = this.#byCalendar.get(event.calendarId) ?? new Map<string, StoredEvent>();
    this.#byCalendar.set(event.calendarId, shown.set(event.immutableId, event));
    for (const key of propertyKeys(event)) {
      const ids = this.#byProperty.get(key);
      if (ids) {
        ids.add(event.immutableId);
      } else {
        this.#byProperty.set(key, new Set([event.immutableId]));
      }
    }
  }

  #hide(event: StoredEvent): void {
    if (event.isDeleted) {
      return;
    }
    this.#byCalendar.get(event.calendarId)?.delete(event.immutableId);
    for (const key of propertyKeys(event)) {
      const ids = this.#byProperty.get(key);
      ids?.delete(event.immutableId);
      if (ids?.size === 0) {
        this.#byProperty.delete(key);
      }
    }
  }
}

function propertyKeys(event: StoredEvent): string[] {
  return [...event.properties].map(([id, value]) => propertyKey(event.calendarId, id, value));
}

function propertyKey(calendarId: string, propertyId: string, value: string): string {
  return `${calendarId}\n${propertyId}\n${comparableValue(value)}`;
}
