import { z } from 'zod';
import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { RemoteChanges } from '../connector.ts';
import { fromCursor, readFeed } from '../cursor.ts';
import { parsedBy } from '../errors.ts';
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
  return await readFeed(container, fromCursor(container, cursor, placeSchema), {
    mostIds: CHANGES_READ_SINGLY,
    follow: (syncToken) => follow(calls, syncToken),
    readEach: calls.find,
    readAll: calls.readAll,
  });
}

/** A round through the feed, by id; of an event that is named twice the last counts. */
interface Feed {
  ids: ItemKey[];
  /** Cancelled, without our owner tag, or somebody else's all along. */
  others: string[];
  next: string | null;
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
    const page = parsedBy(errors, eventsPageSchema, answer.body);
    for (const event of page.items) {
      const head = eventHeadSchema.safeParse(event);
      if (head.success) isOurs.set(head.data.id, readOwnEvent(event, ownerTag)?.cancelled === false);
    }
    pageToken = page.nextPageToken ?? null;
    if (pageToken !== null) continue;
    const [ids, others] = [true, false].map((ours) => [...isOurs.keys()].filter((id) => isOurs.get(id) === ours));
    return { ids: ids!, others: others!, next: page.nextSyncToken ?? null };
  }
  return null;
}
