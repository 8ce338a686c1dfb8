import { z } from 'zod';
import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { RemoteChanges } from '../connector.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors } from './errors.ts';
import { readOwnEvent } from './from-model.ts';
import { CHANGES_READ_SINGLY, MAX_FEED_PAGES } from './limits.ts';
import { eventHeadSchema, eventsPageSchema } from './schemas.ts';

/** What reading changes needs of a target. */
export interface ChangesCalls {
  ownerTag: string;
  /** One page of the feed, or of the way to its beginning. */
  list(syncToken: string | null, pageToken: string | null): Promise<WireResponse>;
  /** Everything of ours in the window, in pages. */
  readAll(): AsyncIterable<RemoteItem[]>;
  /** Those of the keys that are there and ours. */
  find(keys: readonly ItemKey[]): Promise<RemoteItem[]>;
}

/** A sync token. */
const placeSchema = z.string().min(1);

/**
 * What changed since a cursor by sync token (developers.google.com/workspace/calendar/api/guides/sync). The feed can't be
 * filtered, so it is asked only whose each event is; the content of ours is read afterwards. Without a token that Google
 * takes, all of ours.
 * @throws MirrorError; a page that fails ends the reading without a cursor
 */
export async function readChanges(
  calls: ChangesCalls,
  container: string,
  cursor: string | null,
): Promise<RemoteChanges> {
  const syncToken = fromCursor(container, cursor, placeSchema);
  const feed = syncToken === null ? null : await follow(calls, syncToken);
  if (feed !== null && feed.ours.length <= CHANGES_READ_SINGLY) {
    const items = feed.ours.length === 0 ? [] : await calls.find(feed.ours);
    const there = new Set(items.map(({ remoteId }) => remoteId));
    const removed = [...feed.others, ...feed.ours.filter((id) => !there.has(id))];
    return { scope: 'since', items, removed, cursor: cursorOf(container, feed.nextSyncToken) };
  }
  // The token comes first: what changes during the listing is told twice rather than never.
  const { nextSyncToken } = feed ?? (await follow(calls, null)) ?? { nextSyncToken: null };
  const pages = await Array.fromAsync(calls.readAll());
  return { scope: 'whole', items: pages.flat(), removed: [], cursor: cursorOf(container, nextSyncToken) };
}

/** A round through the feed, by id; of an event that is named twice the last counts. */
interface Feed {
  ours: ItemKey[];
  /** Cancelled, without our owner tag, or somebody else's all along. */
  others: string[];
  nextSyncToken: string | null;
}

/** Null when Google does not take the token any more, or never gave it, and for a feed that comes to no end. */
async function follow({ list, ownerTag }: ChangesCalls, syncToken: string | null): Promise<Feed | null> {
  const isOurs = new Map<string, boolean>();
  let pageToken: string | null = null;
  for (let count = 0; count < MAX_FEED_PAGES; count += 1) {
    const answer = await list(syncToken, pageToken);
    if (syncToken !== null && (answer.status === 410 || answer.status === 400)) return null;
    if (answer.status === 404) throw errors.make('calendar-gone', { status: 404 });
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = eventsPageSchema.safeParse(answer.body);
    if (!page.success) throw errors.make('unexpected-answer');
    for (const event of page.data.items) {
      const head = eventHeadSchema.safeParse(event);
      if (head.success) isOurs.set(head.data.id, readOwnEvent(event, ownerTag)?.cancelled === false);
    }
    pageToken = page.data.nextPageToken ?? null;
    if (pageToken === null) return { ...toFeed(isOurs), nextSyncToken: page.data.nextSyncToken ?? null };
  }
  return null;
}

function toFeed(isOurs: ReadonlyMap<string, boolean>): Pick<Feed, 'ours' | 'others'> {
  const ids = [...isOurs.keys()];
  return { ours: ids.filter((id) => isOurs.get(id)), others: ids.filter((id) => !isOurs.get(id)) };
}

function cursorOf(container: string, syncToken: string | null): string | null {
  return syncToken === null ? null : toCursor(container, syncToken);
}
