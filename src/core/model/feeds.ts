import type { CalendarItem } from './items.ts';
import type { ItemKey } from './operations.ts';

/** Connector name of feed targets. */
export const FEED_CONNECTOR = 'feed';

/** A stored event of a feed. */
export interface FeedEntry {
  /** Revision of the last write. */
  revision: number;
  ownerTag: string;
  sealedRecordId: string;
  item: CalendarItem;
  /** The event as a VEVENT (RFC 5545 section 3.6.1) with unfolded lines. */
  event: string;
  /** Zone whose definition the times require; null if none. */
  zone: { name: string; fromYear: number; toYear: number } | null;
}

/** State of a key before a write, by revision. A `later` event remains. */
export type StoodThere = 'nothing' | 'earlier' | 'later';

/** Encrypted content of a feed. Only this daemon writes to the feed. */
export interface FeedStore {
  /** Returns the existing events among the keys, or all without keys. */
  entries(keys?: readonly ItemKey[]): Promise<Map<ItemKey, FeedEntry>>;
  put(key: ItemKey, entry: FeedEntry): Promise<StoodThere>;
  /** Removes an event unless a write of a higher revision created it. */
  takeOut(key: ItemKey, revision: number): Promise<StoodThere>;
  /** Returns a string that changes with each change of the feed. */
  version(): Promise<string>;
}
