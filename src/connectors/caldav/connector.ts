import { z } from 'zod';
import type { CalendarItem } from '../../core/model/items.ts';
import type { Operation, Outcome, Written } from '../../core/model/operations.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import type { RemoteChanges } from '../../engine/ports.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { fromCursor, toCursor } from '../cursor.ts';
import { askedAlone, inTurn, resolveOutcomes } from '../outcomes.ts';
import { describe, prepareCalendar, readTag } from './calendars.ts';
import { type Collection, keyOf, objectUrl, readChanges, type StoredObject, versionTagOf } from './collection.ts';
import { errors } from './errors.ts';
import { findOurs, multiget, readOurs, toRemoteItems } from './reading.ts';
import { baseAddress, type CaldavSettings } from './schemas.ts';
import { asCollection, comparablePath, DavSession, isUnreadable, nameOf, strongTag } from './webdav.ts';
import { carryOut, type Seen } from './writing.ts';

/** Opens one calendar target. */
export function openCaldav(context: ConnectorContext<CaldavSettings>): Connector {
  const session = new DavSession(context, baseAddress(context.settings));
  const { ownerTag, owner = null, clock, settings } = context;
  function collectionAt(container: string, signal: AbortSignal): Collection {
    const isOwn = 'create' in settings.calendar;
    return { session, url: asCollection(new URL(container)), isOwn, ownerTag, clock, signal };
  }
  const connector: Connector = {
    async prepare(storedId, { creates }, signal) {
      const search = { session, settings, ownerTag, owner, creates, signal };
      return (await prepareCalendar(search, storedId))?.href ?? null;
    },
    apply: (container, operations, signal) => applyAll(collectionAt(container, signal), operations),
    read: (container, window, signal) => readOurs(collectionAt(container, signal), window),
    find: (container, keys, signal, remoteIds) => findOurs(collectionAt(container, signal), keys, remoteIds),
    changes: (container, query, signal) => changesOf(collectionAt(container, signal), container, query),
  };
  return askedAlone(connector, {
    errors,
    isThere: async (container, signal) =>
      (await describe({ session, signal }, asCollection(new URL(container)))) !== null,
  });
}

async function applyAll(collection: Collection, operations: readonly Operation[]): Promise<Outcome[]> {
  const seen = await lookBefore(collection, operations);
  const urls = new Map<string, URL>();
  const outcomes = await inTurn(operations, errors, collection.signal, async (operation) => {
    const { outcome, url } = await carryOut(collection, operation, seenOf(seen, collection, operation));
    if (url !== null) urls.set(outcome.recordId, url);
    return outcome;
  });
  return await readBack(collection, resolveOutcomes(outcomes, errors), urls);
}

/**
 * Fetches objects before the operations, in one request: for creates that may have succeeded earlier, and for updates and deletions without
 * a tag for If-Match. If the request fails, each object is fetched separately, so that one unreadable object does not affect others.
 */
async function lookBefore(collection: Collection, operations: readonly Operation[]) {
  const unknown = operations.filter((operation) =>
    operation.kind === 'create' ? operation.mayExist === true : strongTag(operation.versionTag) === null,
  );
  if (unknown.length === 0) return null;
  const urls = unknown.map((operation) => urlOf(collection, operation));
  const found = await multiget(collection, urls).catch((error) => {
    if (isUnreadable(error)) return null;
    throw error;
  });
  if (found === null) return null;
  // Objects without data are fetched separately, so that only their operations fail.
  const asked = urls.map(comparablePath).filter((path) => found.get(path)?.dataStatus === undefined);
  return { asked: new Set(asked), found };
}

function seenOf(seen: Awaited<ReturnType<typeof lookBefore>>, collection: Collection, operation: Operation): Seen {
  const path = comparablePath(urlOf(collection, operation));
  return seen?.asked.has(path) ? (seen.found.get(path) ?? null) : undefined;
}

function urlOf(collection: Collection, operation: Operation): URL {
  return objectUrl(collection.url, operation.key, operation.kind === 'create' ? null : operation.remoteId);
}

/**
 * Fetches written objects without a strong ETag: the server may have stored different data, and without a tag the next update must fetch
 * first. If this fetch fails, the ETag stays unknown.
 * @see RFC 4791 section 5.3.4
 */
async function readBack(
  collection: Collection,
  outcomes: readonly Outcome[],
  urls: ReadonlyMap<string, URL>,
): Promise<Outcome[]> {
  const untagged = outcomes.filter(isUntagged).flatMap(({ recordId }) => urls.get(recordId) ?? []);
  const found = await multiget(collection, untagged).catch(() => new Map<string, StoredObject>());
  return outcomes.map((outcome) => {
    const url = urls.get(outcome.recordId);
    const stored = url === undefined ? undefined : found.get(comparablePath(url));
    if (!isUntagged(outcome) || stored?.content == null || keyOf(stored, collection.ownerTag) === null) return outcome;
    const { item } = stored.content;
    const versionTag = versionTagOf(stored.etag, stored.content);
    return { ...outcome, versionTag, ...(item === null ? {} : { stored: item }) };
  });
}

function isUntagged(outcome: Outcome): outcome is Written {
  return outcome.result === 'written' && outcome.versionTag === null;
}

/**
 * Sync token of the server, a URI (RFC 6578 section 3.7). Without sync reports, the calendar's tag, which only shows whether anything
 * changed.
 */
const positionSchema = z.union([z.string().min(1), z.object({ tag: z.string().min(1) })]);

/**
 * Fetches the changes in a calendar since a cursor by sync-collection. Without a cursor that the server accepts, fetches all own objects
 * within the window. The report lists only members, so all changed members are fetched, and foreign ones are dropped at once.
 * @param container collection URL as the caller knows it
 * @throws MirrorError `settings`, code `calendar-gone`
 * @see RFC 6578
 */
async function changesOf(
  collection: Collection,
  container: string,
  { cursor, window }: { cursor: string | null; window: TimeWindow },
): Promise<RemoteChanges<CalendarItem>> {
  const position = fromCursor(container, cursor, positionSchema);
  const before = typeof position === 'string' ? null : (position?.tag ?? null);
  if (before !== null && before === (await readTag(collection)))
    return { scope: 'since', items: [], removed: [], cursor };
  const since = typeof position === 'string' ? position : null;
  const { changed, removed, token, isWhole } = await readChanges(collection, since);
  const next = await cursorOf(collection, container, token);
  if (isWhole) {
    // Fetched after the token was issued, so that changes in between are reported twice rather than never.
    const pages = await Array.fromAsync(readOurs(collection, window));
    return { scope: 'whole', items: pages.flat(), removed: [], cursor: next };
  }
  const found = await multiget(collection, changed);
  const items = toRemoteItems(collection, found.values());
  const ours = new Set(items.map(({ remoteId }) => remoteId));
  // An object with a foreign UID and name is no longer an own object.
  const gone = [...removed, ...changed].map(nameOfObject).filter((remoteId) => !ours.has(remoteId));
  return { scope: 'since', items, removed: gone, cursor: next };
}

async function cursorOf(collection: Collection, container: string, token: string | null): Promise<string | null> {
  if (token !== null) return toCursor(container, token);
  const tag = await readTag(collection);
  return tag === null ? null : toCursor(container, { tag });
}

/** Returns the remote id of an unreadable object: the key if the name has clinic-mirror's form. */
function nameOfObject(url: URL): string {
  return nameOf(url).replace(/^([0-9a-v]{32})\.ics$/, '$1');
}
