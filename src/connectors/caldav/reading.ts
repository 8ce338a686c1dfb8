import { MirrorError } from '../../model/errors.ts';
import type { ItemTime } from '../../model/items.ts';
import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { TimeWindow } from '../../model/time.ts';
import { comparablePath, isMember, nameOf } from './addresses.ts';
import {
  type Collection,
  findByOwnerTag,
  findByProperty,
  isOurs,
  objectUrl,
  readChanges,
  type StoredObject,
  toRemoteItem,
} from './collection.ts';
import { MULTIGET_SIZE } from './limits.ts';
import { multiget } from './multiget.ts';
import type { Multistatus } from './webdav.ts';

/** Every object of ours, in pages of one multiget; within the window when one is given. */
export async function* readOurs(collection: Collection, window: TimeWindow | null): AsyncIterable<RemoteItem[]> {
  const urls = await candidates(collection, window);
  for (let start = 0; start < urls.length; start += MULTIGET_SIZE) {
    const found = await multiget(collection, urls.slice(start, start + MULTIGET_SIZE));
    const items = toRemoteItems(collection, found.values());
    yield items.filter(({ item }) => window === null || item === null || isWithin(item.time, window));
  }
}

/**
 * Addresses of what may be ours: what the server's filter finds by our owner tag. A server that can't search for properties of
 * others refuses, finds nothing or leaves out; then everything in the calendar is a candidate.
 */
async function candidates(collection: Collection, window: TimeWindow | null): Promise<readonly URL[]> {
  const found = await searched(collection, window);
  if (found.length > 0) return window === null ? found : await tagged(collection, found);
  // Nothing in the window, while the filter does find things elsewhere, means nothing.
  if (window !== null && (await searched(collection, null)).length > 0) return [];
  return (await readChanges(collection, null)).changed;
}

/**
 * Those of what a search in time found that may be ours: a server may pass over the owner tag once the time fits, and tell of everybody's
 * events. What has a name that we don't give must be found by the owner tag alone too, unless that finds nothing at all.
 */
async function tagged(collection: Collection, found: readonly URL[]): Promise<readonly URL[]> {
  if (found.every(isOwnName)) return found;
  const ours = new Set((await searched(collection, null)).map(comparablePath));
  return ours.size === 0 ? found : found.filter((url) => isOwnName(url) || ours.has(comparablePath(url)));
}

/** Codes that a refused search gets; a calendar that can't be read at all gets one of them again from the listing. */
const SEARCH_REFUSED = new Set(['unexpected-status', 'calendar-forbidden']);

async function searched(collection: Collection, window: TimeWindow | null): Promise<URL[]> {
  const urls = await matching(() => findByOwnerTag(collection, window === null ? '' : timeRange(window)));
  return urls.filter((url) => isMember(collection.url, url));
}

/** Addresses that a search finds; none where the server refuses it or leaves out. */
async function matching(search: () => Promise<Multistatus>): Promise<URL[]> {
  try {
    const answer = await search();
    return answer.truncated ? [] : answer.members.map(({ url }) => url);
  } catch (error) {
    if (error instanceof MirrorError && SEARCH_REFUSED.has(error.code)) return [];
    throw error;
  }
}

/** Those of the keys that are there, under their own name or another. */
export async function findOurs(collection: Collection, keys: readonly ItemKey[]): Promise<RemoteItem[]> {
  const wanted = new Set(keys);
  const named = await multiget(
    collection,
    keys.map((key) => objectUrl(collection.url, key, null)),
  );
  const items = toRemoteItems(collection, named.values()).filter(({ key }) => wanted.has(key));
  for (const { key } of items) wanted.delete(key);
  if (wanted.size === 0) return items;
  const others = (await searched(collection, null)).filter((url) => !named.has(comparablePath(url)) && !isOwnName(url));
  if (others.length === 0) return items;
  const renamed = toRemoteItems(collection, (await multiget(collection, others)).values());
  return [...items, ...renamed.filter(({ key }) => wanted.has(key))];
}

/**
 * The object of a key that a client gave another name, of several the one that was written last; null when there is none. All that may be
 * ours under such names is read once for all keys of a call: after a crash each create asks.
 */
export async function findRenamed(collection: Collection, key: ItemKey): Promise<StoredObject | null> {
  collection.renamed ??= allRenamed(collection);
  return (await collection.renamed).get(key) ?? null;
}

async function allRenamed(collection: Collection): Promise<Map<ItemKey, StoredObject>> {
  const urls = (await candidates(collection, null)).filter((url) => isMember(collection.url, url) && !isOwnName(url));
  const renamed = new Map<ItemKey, StoredObject>();
  for (const stored of (await multiget(collection, urls)).values()) {
    const { content } = stored;
    if (!isOurs(content, collection.ownerTag)) continue;
    const other = renamed.get(content.uid)?.content?.revision ?? -1;
    if ((content.revision ?? 0) > other) renamed.set(content.uid, stored);
  }
  return renamed;
}

/** The object that bears a taken UID, as the server's search tells; else as {@link findRenamed}. */
export async function findByUid(collection: Collection, key: ItemKey): Promise<StoredObject | null> {
  const found = await matching(() => findByProperty(collection, 'UID', key));
  const urls = found.filter((url) => isMember(collection.url, url) && !isOwnName(url));
  const objects = [...(await multiget(collection, urls)).values()];
  const bearing = objects.filter(({ content }) => isOurs(content, collection.ownerTag) && content.uid === key);
  const [latest] = bearing.sort((one, other) => (other.content?.revision ?? 0) - (one.content?.revision ?? 0));
  return latest ?? (await findRenamed(collection, key));
}

function isOwnName(url: URL): boolean {
  return /^[0-9a-v]{32}\.ics$/.test(nameOf(url));
}

/** Those of the objects that are ours. */
export function toRemoteItems(collection: Collection, objects: Iterable<StoredObject>): RemoteItem[] {
  const items: RemoteItem[] = [];
  for (const { url, etag, content } of objects) {
    if (isOurs(content, collection.ownerTag)) items.push(toRemoteItem(url, etag, content));
  }
  return items;
}

/**
 * Overlap with the window, as in a calendar-query.
 * @see RFC 4791 section 9.9
 */
function timeRange({ fromAt, toAt }: TimeWindow): string {
  return `<C:time-range start="${compactUtc(fromAt)}" end="${compactUtc(toAt)}"/>`;
}

function compactUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** Whole days are taken as wide as any zone can have them, so that none at the edge is left out. */
function isWithin(time: ItemTime, { fromAt, toAt }: TimeWindow): boolean {
  if (time.kind === 'timed')
    return Date.parse(time.start) < toAt && Math.max(Date.parse(time.end), Date.parse(time.start) + 1) > fromAt;
  return Date.parse(`${time.startDate}T00:00:00+14:00`) < toAt && Date.parse(`${time.endDate}T00:00:00-12:00`) > fromAt;
}
