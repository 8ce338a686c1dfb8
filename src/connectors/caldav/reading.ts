import { setImmediate } from 'node:timers/promises';
import { MirrorError } from '../../model/errors.ts';
import type { ItemTime } from '../../model/items.ts';
import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import type { TimeWindow } from '../../model/time.ts';
import { proveThere } from './calendars.ts';
import {
  askCollection,
  type Collection,
  findByOwnerTag,
  findByProperty,
  isOurs,
  listMembers,
  objectUrl,
  readChanges,
  type StoredObject,
  toRemoteItem,
} from './collection.ts';
import { errors } from './errors.ts';
import { fromCalendarObject } from './from-model.ts';
import { MULTIGET_SIZE } from './limits.ts';
import {
  comparablePath,
  type DavMember,
  isMember,
  isMultistatus,
  isUnreadable,
  type Multistatus,
  nameOf,
  readRefused,
  strongTag,
} from './webdav.ts';
import { CALDAV, DAV, escapeXml, NAMESPACES } from './xml.ts';

/**
 * Fetches one object, or null if an existing calendar no longer contains the object.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote`, code `server-error`, if only this object is unreadable
 */
export async function lookUp(collection: Collection, url: URL): Promise<StoredObject | null> {
  const found = await multiget(collection, [url]).catch((error) => {
    if (!isUnreadable(error)) throw error;
    throw errors.make('server-error', { status: error.status, cause: error });
  });
  return found.get(comparablePath(url)) ?? null;
}

/**
 * Fetches the existing objects among the URLs, by comparable path.
 * @throws MirrorError `settings`, code `calendar-gone`
 */
export async function multiget(collection: Collection, urls: readonly URL[]): Promise<Map<string, StoredObject>> {
  const found = new Map<string, StoredObject>();
  for (const asked of slices(urls, MULTIGET_SIZE)) {
    for (const stored of await readSome(collection, asked)) found.set(comparablePath(stored.url), stored);
  }
  return found;
}

/** @param areListed whether the calendar lists each URL as a member */
async function readSome(
  collection: Collection,
  asked: readonly URL[],
  { areListed }: { areListed: boolean } = { areListed: false },
): Promise<StoredObject[]> {
  const answer = await askCollection(collection, {
    ...{ method: 'REPORT', headers: { depth: '1' }, body: multigetBody(asked) },
  });
  if (!isMultistatus(answer)) {
    if (answer.status >= 500) throw readRefused(answer.status);
    return await readApart(collection, asked, areListed);
  }
  const answered = new Map(answer.members.map((member) => [comparablePath(member.url), member]));
  const found: StoredObject[] = [];
  const missing: URL[] = [];
  for (const url of asked) {
    const member = answered.get(comparablePath(url));
    if (member === undefined) missing.push(url);
    const stored = member === undefined ? null : storedObject(url, member);
    // Parsing an object with much users' content takes a while.
    await setImmediate();
    if (stored !== null) found.push(stored);
  }
  const isSilent = missing.length === asked.length;
  return [...found, ...(await lookFor(collection, missing, isSilent))];
}

/**
 * Fetches objects after a server refused to return them together, as some servers do if one object is absent. One list shows which objects
 * exist. Refused requests are halved until only the failing object remains. A listed object that is unreadable is not absent.
 */
async function readApart(collection: Collection, urls: readonly URL[], areListed: boolean): Promise<StoredObject[]> {
  const listed = areListed ? urls : await listedAmong(collection, urls);
  if (listed.length === 0) return [];
  if (urls.length === 1) {
    const stored = await get(collection, urls[0]!);
    if (stored === null) throw readRefused(404);
    return [stored];
  }
  if (listed.length < urls.length) return await readSome(collection, listed, { areListed: true });
  const middle = Math.ceil(urls.length / 2);
  const first = await readSome(collection, urls.slice(0, middle), { areListed: true });
  return [...first, ...(await readSome(collection, urls.slice(middle), { areListed: true }))];
}

/**
 * Fetches objects that a multiget omitted: some servers omit absent objects, and others sometimes omit existing ones. A single object is
 * requested directly; for several, one list shows which exist.
 * @param isSilent whether the multiget returned no requested object, as some servers do for an absent calendar
 */
async function lookFor(collection: Collection, urls: readonly URL[], isSilent: boolean): Promise<StoredObject[]> {
  if (urls.length === 0) return [];
  const found: StoredObject[] = [];
  for (const url of urls.length === 1 ? urls : await listedAmong(collection, urls)) {
    const stored = await get(collection, url);
    if (stored !== null) found.push(stored);
  }
  if (isSilent && found.length === 0) await proveThere(collection);
  return found;
}

async function listedAmong(collection: Collection, urls: readonly URL[]): Promise<URL[]> {
  const listed = new Set((await listMembers(collection)).map(comparablePath));
  return urls.filter((url) => listed.has(comparablePath(url)));
}

async function get(collection: Collection, url: URL): Promise<StoredObject | null> {
  const answer = await collection.session.send({ method: 'GET', url }, collection.signal);
  if (answer.status === 404 || answer.status === 410) return null;
  if (answer.status === 403) {
    // A foreign object in a shared calendar, unless the calendar is unreadable too.
    await proveThere(collection);
    return { url, etag: null, content: null };
  }
  if (answer.status !== 200) throw readRefused(answer.status);
  return { url, etag: strongTag(answer.headers.get('etag')), content: fromCalendarObject(answer.body) };
}

function storedObject(url: URL, member: DavMember): StoredObject | null {
  if (member.status === 404 || member.status === 410) return null;
  // The object exists, but this connection has no read access: a foreign object in a shared calendar.
  if (member.status === 403) return { url, etag: null, content: null };
  const data = member.properties.get(`${CALDAV}calendar-data`);
  if (data === undefined) throw readRefused(member.status ?? 207);
  return { url, etag: strongTag(member.properties.get(`${DAV}getetag`)?.text), content: fromCalendarObject(data.text) };
}

function multigetBody(urls: readonly URL[]): string {
  const hrefs = urls.map((url) => `<D:href>${escapeXml(url.pathname)}</D:href>`).join('');
  return `<C:calendar-multiget ${NAMESPACES}><D:prop><D:getetag/><C:calendar-data/></D:prop>${hrefs}</C:calendar-multiget>`;
}

/** Fetches all own objects in pages of one multiget, limited to the window if given. */
export async function* readOurs(collection: Collection, window: TimeWindow | null): AsyncIterable<RemoteItem[]> {
  const urls = await candidates(collection, window);
  for (let start = 0; start < urls.length; start += MULTIGET_SIZE) {
    const found = await multiget(collection, urls.slice(start, start + MULTIGET_SIZE));
    const items = toRemoteItems(collection, found.values());
    yield items.filter(({ item }) => window === null || item === null || isWithin(item.time, window));
  }
}

/**
 * Returns URLs of possible own objects: events that the server's filter finds by owner tag. A server without a filter for such properties
 * refuses, finds nothing or truncates the result. In that case, all members of the calendar are candidates.
 */
async function candidates(collection: Collection, window: TimeWindow | null): Promise<readonly URL[]> {
  const found = await searched(collection, window);
  if (found.length > 0) return window === null ? found : await tagged(collection, found);
  // If the filter finds events outside the window, an empty result for the window is reliable.
  if (window !== null && (await searched(collection, null)).length > 0) return [];
  return (await readChanges(collection, null)).changed;
}

/**
 * Returns the possible own events from a search by time: a server may ignore the owner tag if the time matches, and return all users'
 * events. An event with a foreign name must also match a search by only the owner tag, unless that search finds nothing.
 */
async function tagged(collection: Collection, found: readonly URL[]): Promise<readonly URL[]> {
  if (found.every(isOwnName)) return found;
  const ours = new Set((await searched(collection, null)).map(comparablePath));
  return ours.size === 0 ? found : found.filter((url) => isOwnName(url) || ours.has(comparablePath(url)));
}

/** Error codes of a refused search. If the whole calendar is unreadable, the list of members fails with one of these codes too. */
const SEARCH_REFUSED = new Set(['unexpected-status', 'calendar-forbidden']);

async function searched(collection: Collection, window: TimeWindow | null): Promise<URL[]> {
  const urls = await matching(() => findByOwnerTag(collection, window === null ? '' : timeRange(window)));
  return urls.filter((url) => isMember(collection.url, url));
}

/** Returns the URLs that a search finds, or none if the server refuses or truncates the search. */
async function matching(search: () => Promise<Multistatus>): Promise<URL[]> {
  try {
    const answer = await search();
    return answer.truncated ? [] : answer.members.map(({ url }) => url);
  } catch (error) {
    if (error instanceof MirrorError && SEARCH_REFUSED.has(error.code)) return [];
    throw error;
  }
}

/** Fetches the existing objects among the keys, with derived or other names. */
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
 * Fetches the object of a key that a client renamed, or null. Of several objects, the last written is returned. All candidates are fetched
 * once for all keys of a call, since each create after a crash needs them.
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

/** Fetches the object with a UID in use by the server's search; otherwise as {@link findRenamed}. */
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

/** Returns the own objects as remote items. */
export function toRemoteItems(collection: Collection, objects: Iterable<StoredObject>): RemoteItem[] {
  const items: RemoteItem[] = [];
  for (const { url, etag, content } of objects) {
    if (isOurs(content, collection.ownerTag)) items.push(toRemoteItem(url, etag, content));
  }
  return items;
}

/**
 * Builds a filter for events that overlap the window.
 * @see RFC 4791 section 9.9
 */
function timeRange({ fromAt, toAt }: TimeWindow): string {
  return `<C:time-range start="${compactUtc(fromAt)}" end="${compactUtc(toAt)}"/>`;
}

function compactUtc(at: number): string {
  return `${new Date(at).toISOString().slice(0, 19).replaceAll(/[-:]/g, '')}Z`;
}

/** All-day events are extended to the widest zone offsets, so that no event at the edge is missed. */
function isWithin(time: ItemTime, { fromAt, toAt }: TimeWindow): boolean {
  if (time.kind === 'timed')
    return Date.parse(time.start) < toAt && Math.max(Date.parse(time.end), Date.parse(time.start) + 1) > fromAt;
  return Date.parse(`${time.startDate}T00:00:00+14:00`) < toAt && Date.parse(`${time.endDate}T00:00:00-12:00`) > fromAt;
}
