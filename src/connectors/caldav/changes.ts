import { z } from 'zod';
import type { TimeWindow } from '../../model/time.ts';
import type { RemoteChanges } from '../connector.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import { nameOf } from './addresses.ts';
import type { Collection } from './collection.ts';
import { readChanges } from './collection.ts';
import { multiget } from './multiget.ts';
import { readOurs, toRemoteItems } from './reading.ts';

/**
 * The server's sync token, a URI.
 * @see RFC 6578 section 3.7
 */
const placeSchema = z.string().min(1);

/**
 * What changed in a calendar since a cursor, by sync-collection; all that is ours within the window without a
 * cursor that the server takes. The report names members only, so those that changed are read, whoever's they are: what
 * isn't ours is dropped at once.
 * @param container the collection as the caller names it
 * @throws MirrorError `settings`, code `calendar-gone`
 * @see RFC 6578
 */
export async function changesOf(
  collection: Collection,
  container: string,
  { cursor, window }: { cursor: string | null; window: TimeWindow },
): Promise<RemoteChanges> {
  const { changed, removed, token, isWhole } = await readChanges(
    collection,
    fromCursor(container, cursor, placeSchema),
  );
  const next = token === null ? null : toCursor(container, token);
  if (isWhole) {
    // Read after the token was given: what changes in between is told twice rather than never.
    const pages = await Array.fromAsync(readOurs(collection, window));
    return { scope: 'whole', items: pages.flat(), removed: [], cursor: next };
  }
  const found = await multiget(collection, changed);
  const items = toRemoteItems(collection, found.values());
  const ours = new Set(items.map(({ remoteId }) => remoteId));
  // An object without our owner tag is none of ours any more.
  const gone = [...removed, ...changed].map(nameOfObject).filter((remoteId) => !ours.has(remoteId));
  return { scope: 'since', items, removed: gone, cursor: next };
}

/** The remote id of an object that can't be read: its key when it has the form of our names. */
function nameOfObject(url: URL): string {
  return nameOf(url).replace(/^([0-9a-v]{32})\.ics$/, '$1');
}
