import type { CalendarItem } from './items.ts';
import type { ItemKey } from './operations.ts';

/** One entry of a feed as it is kept. */
export interface FeedEntry {
  /** Of the write that made it so. */
  revision: number;
  ownerTag: string;
  sealedRecordId: string;
  item: CalendarItem;
  /** The item as a VEVENT (RFC 5545 section 3.6.1), lines not folded. */
  event: string;
  /** The zone whose definition its times need; null when they need none. */
  zone: { name: string; fromYear: number; toYear: number } | null;
}

/** What stood at the place of a key, by the revision of its write; what was `later` still stands. */
export type StoodThere = 'nothing' | 'earlier' | 'later';

/** What a feed holds, sealed. It is this daemon's own: nobody else writes there. */
export interface FeedStore {
  /** Those of the keys that are there; all without keys. */
  entries(keys?: readonly ItemKey[]): Promise<Map<ItemKey, FeedEntry>>;
  put(key: ItemKey, entry: FeedEntry): Promise<StoodThere>;
  /** Takes an entry out unless a write of a higher revision made it. */
  takeOut(key: ItemKey, revision: number): Promise<StoodThere>;
  /** Another text after each change; the same as long as nothing changes. */
  version(): Promise<string>;
}
