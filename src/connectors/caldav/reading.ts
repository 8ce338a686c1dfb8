import { MirrorError } from '../../core/model/errors.ts';
import type { ItemTime } from '../../core/model/items.ts';
import type { ItemKey, RemoteItem } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import { inPieces, pause } from '../../core/pieces/in-pieces.ts';
import type { RemoteIds } from '../connector.ts';
import { MOST_CHARACTERS } from '../icalendar.ts';
import { type Body, decoded, escapeXml, LONGEST_PIECE } from '../xml.ts';
import { proveThere } from './calendars.ts';
import {
  askCollection,
  type Collection,
  findByOwnerTag,
  findByProperty,
  keyOf,
  listMembers,
  objectUrl,
  type RenamedObjects,
  readChanges,
  type StoredObject,
  toRemoteItem,
} from './collection.ts';
import { errors } from './errors.ts';
import { fromCalendarObject, readCalendarObject } from './from-model.ts';
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
import { CALDAV, DAV, NAMESPACES } from './xml-names.ts';

/**
 * Fetches one object, or null if an existing calendar no longer contains the object.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote`, code `server-error`, if only this object is unreadable
 */
export async function lookUp(collection: Collection, url: URL): Promise<StoredObject | null> {
  const found = await multiget(collection, [url]).catch((error) => {
    if (!isUnreadable(error)) throw error;
    throw errors.make('server-error', { status: error.status, cause: error });
  });
  const stored = found.get(comparablePath(url)) ?? null;
  if (stored?.dataStatus !== undefined) throw errors.make('server-error', { status: stored.dataStatus });
  return stored;
}

/**
 * Fetches the existing objects among the URLs, by comparable path.
 * @param areListed whether the calendar lists each URL as a member
 * @throws MirrorError `settings`, code `calendar-gone`
 */
export async function multiget(
  collection: Collection,
  urls: readonly URL[],
  areListed = false,
): Promise<Map<string, StoredObject>> {
  const found = new Map<string, StoredObject>();
  for (const asked of slices(urls, MULTIGET_SIZE)) {
    for (const stored of await readSome(collection, asked, areListed)) found.set(comparablePath(stored.url), stored);
  }
  return found;
}

async function readSome(collection: Collection, asked: readonly URL[], areListed: boolean): Promise<StoredObject[]> {
  const answer = await askCollection(collection, {
    ...{ method: 'REPORT', headers: { depth: '1' }, body: multigetBody(asked) },
  });
  if (!isMultistatus(answer)) {
    if (answer.status >= 500 && asked.length === 1 && !areListed) throw readRefused(answer.status);
    return await readApart(collection, asked, areListed);
  }
  const answered = new Map(answer.members.map((member) => [comparablePath(member.url), member]));
  const found: StoredObject[] = [];
  const missing: URL[] = [];
  for (const url of asked) {
    const member = answered.get(comparablePath(url));
    if (member === undefined) missing.push(url);
    const stored = member === undefined ? null : await storedObject(url, member);
    await pause();
    if (stored !== null) found.push(stored);
  }
  const isSilent = missing.length === asked.length;
  return [...found, ...(await lookFor(collection, missing, isSilent))];
}

/**
 * Fetches objects after a server refused to return them together, as some servers do if one object is absent or damaged. One list shows
 * which objects exist. Refused requests are halved until only the failing object remains. A listed object that is unreadable is not absent.
 * @throws MirrorError `remote` if many objects and no other are unreadable: the server fails
 */
async function readApart(collection: Collection, urls: readonly URL[], areListed: boolean): Promise<StoredObject[]> {
  const listed = areListed ? urls : await listedAmong(collection, urls);
  if (listed.length === 0) return [];
  if (urls.length === 1) {
    const stored = await getOrUnread(collection, urls[0]!);
    if (stored === null) throw readRefused(404);
    return [stored];
  }
  if (listed.length < urls.length) return await readSome(collection, listed, true);
  const middle = Math.ceil(urls.length / 2);
  const first = await readSome(collection, urls.slice(0, middle), true);
  const unread = first.flatMap(({ dataStatus }) => dataStatus ?? []);
  if (unread.length === first.length && unread.length >= MOST_UNREAD) throw readRefused(unread[0]!);
  return [...first, ...(await readSome(collection, urls.slice(middle), true))];
}

/** If so many objects are unreadable one after the other, the server fails, and not its objects. Own choice. */
const MOST_UNREAD = 4;

/**
 * Fetches objects that a multiget omitted: some servers omit absent objects, and others sometimes omit existing ones. A single object is
 * requested directly; for several, one list shows which exist.
 * @param isSilent whether the multiget returned no requested object, as some servers do for an absent calendar
 */
async function lookFor(collection: Collection, urls: readonly URL[], isSilent: boolean): Promise<StoredObject[]> {
  if (urls.length === 0) return [];
  const found: StoredObject[] = [];
  for (const url of urls.length === 1 ? urls : await listedAmong(collection, urls)) {
    const stored = await getOrUnread(collection, url);
    if (stored !== null) found.push(stored);
  }
  if (isSilent && found.length === 0) await proveThere(collection);
  return found;
}

async function listedAmong(collection: Collection, urls: readonly URL[]): Promise<URL[]> {
  const listed = new Set((await listMembers(collection)).map(comparablePath));
  return urls.filter((url) => listed.has(comparablePath(url)));
}

async function getOrUnread(collection: Collection, url: URL): Promise<StoredObject | null> {
  return await get(collection, url).catch((error) => {
    if (!isUnreadable(error)) throw error;
    return unreadObject(url, error.status ?? 500);
  });
}

/** One object without data does not affect the others, and is not absent. */
function unreadObject(url: URL, dataStatus: number): StoredObject {
  return { url, etag: null, content: null, isUnreadable: true, dataStatus };
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
  return parsed(url, answer.headers.get('etag'), await objectText(answer.body));
}

/** Decodes a calendar object, of which the rest is left out if it is longer than any that is read. */
async function objectText(body: Body): Promise<string> {
  let text = '';
  for (const part of decoded(body)) {
    text += part;
    if (text.length > MOST_CHARACTERS) break;
    await pause();
  }
  return text;
}

/** A calendar without events is readable, but holds tasks or other components. */
async function parsed(url: URL, etag: string | null | undefined, text: string): Promise<StoredObject> {
  const content = text.length > LONGEST_PIECE ? await inPieces(readCalendarObject(text)) : fromCalendarObject(text);
  const isOther = content === null && /^BEGIN:VCALENDAR/im.test(text) && !/^BEGIN:VEVENT/im.test(text);
  return { url, etag: strongTag(etag), content, ...(content !== null || isOther ? {} : { isUnreadable: true }) };
}

async function storedObject(url: URL, member: DavMember): Promise<StoredObject | null> {
  if (member.status === 404 || member.status === 410) return null;
  // The object exists, but this connection has no read access: a foreign object in a shared calendar.
  if (member.status === 403) return { url, etag: null, content: null };
  const data = member.properties.get(`${CALDAV}calendar-data`);
  if (data === undefined) return unreadObject(url, member.status ?? 207);
  return parsed(url, member.properties.get(`${DAV}getetag`)?.text, data.text);
}

function multigetBody(urls: readonly URL[]): string {
  const hrefs = urls.map((url) => `<D:href>${escapeXml(url.pathname)}</D:href>`).join('');
  return `<C:calendar-multiget ${NAMESPACES}><D:prop><D:getetag/><C:calendar-data/></D:prop>${hrefs}</C:calendar-multiget>`;
}

/** Fetches all own objects in pages of one multiget, limited to the window if given. */
export async function* readOurs(collection: Collection, window: TimeWindow | null): AsyncIterable<RemoteItem[]> {
  const urls = await candidates(collection, window);
  for (let start = 0; start < urls.length; start += MULTIGET_SIZE) {
    const found = await multiget(collection, urls.slice(start, start + MULTIGET_SIZE), true);
    const items = toRemoteItems(collection, found.values());
    yield items.filter(({ item }) => window === null || item === null || isWithin(item.time, window));
  }
}

/**
 * Returns URLs of possible own objects: events that the server's filter finds by owner tag. A server without a filter for such properties
 * refuses, finds nothing or truncates the result. In that case, and without a window, all members of the calendar are candidates: the filter
 * hides events that lost their marks.
 */
async function candidates(collection: Collection, window: TimeWindow | null): Promise<readonly URL[]> {
  const found = window === null ? [] : await searched(collection, window);
  if (found.length > 0) return await tagged(collection, found);
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

/** Fetches the existing objects among the keys, with derived, stored or other names. */
export async function findOurs(
  collection: Collection,
  keys: readonly ItemKey[],
  remoteIds: RemoteIds = new Map(),
): Promise<RemoteItem[]> {
  const wanted = new Set(keys);
  const urls = keys.flatMap((key) =>
    [...new Set([null, remoteIds.get(key) ?? null])].map((remoteId) => objectUrl(collection.url, key, remoteId)),
  );
  const named = await multiget(collection, urls);
  const items = toRemoteItems(collection, named.values()).filter(({ key }) => wanted.has(key));
  for (const { key } of items) wanted.delete(key);
  items.push(...unreadAt(collection, named, wanted, remoteIds));
  if (wanted.size === 0) return items;
  const tagged = await searched(collection, null);
  const found = await findRenamedOurs(collection, named, wanted, tagged);
  for (const { key } of found) wanted.delete(key);
  // Only an audit, which knows the remote ids, decides about the absence of an object.
  return remoteIds.size === 0
    ? [...items, ...found]
    : [...items, ...found, ...(await findUnmarked(collection, wanted, tagged.length > 0))];
}

/** Returns unreadable objects with stored names that are no keys. */
function unreadAt(
  collection: Collection,
  named: ReadonlyMap<string, StoredObject>,
  wanted: Set<ItemKey>,
  remoteIds: RemoteIds,
): RemoteItem[] {
  return [...wanted].flatMap((key) => {
    const stored = named.get(comparablePath(objectUrl(collection.url, key, remoteIds.get(key) ?? null)));
    if (stored === undefined || stored.content !== null) return [];
    wanted.delete(key);
    return [toRemoteItem(stored, key, collection.ownerTag)];
  });
}

/** Searches for more objects by UID, one by one, than this make one list of the whole calendar cheaper. Own choice. */
const MOST_UIDS_SEARCHED = 10;

/**
 * Fetches objects that lost both their marks and their name: only their UID is left.
 * @param isSearchProved whether the server's search finds anything: a server without filters also finds no UID
 */
async function findUnmarked(
  collection: Collection,
  wanted: ReadonlySet<ItemKey>,
  isSearchProved: boolean,
): Promise<RemoteItem[]> {
  if (wanted.size === 0) return [];
  const searches = [...wanted].map((key) => () => matching(() => findByProperty(collection, 'UID', key)));
  const urls: URL[] = [];
  if (wanted.size > MOST_UIDS_SEARCHED) urls.push(...(await listMembers(collection)));
  else for (const search of searches) urls.push(...(await search()));
  if (urls.length === 0 && !isSearchProved) urls.push(...(await listMembers(collection)));
  const others = urls.filter((url) => isMember(collection.url, url) && !isOwnName(url));
  const items = toRemoteItems(collection, (await multiget(collection, others)).values());
  return items.filter(({ key }) => wanted.has(key));
}

async function findRenamedOurs(
  collection: Collection,
  named: ReadonlyMap<string, StoredObject>,
  wanted: ReadonlySet<ItemKey>,
  tagged: readonly URL[],
): Promise<RemoteItem[]> {
  const others = tagged.filter((url) => !named.has(comparablePath(url)) && !isOwnName(url));
  const renamed = toRemoteItems(collection, (await multiget(collection, others)).values());
  return renamed.filter(({ key }) => wanted.has(key));
}

/**
 * Fetches the object of a key that a client renamed, or null. Of several objects, the last written is returned. All candidates are fetched
 * once for all keys of a call, since each create after a crash needs them.
 * @param hadLink the object existed: if the server finds objects by owner tag, an object without the tag is searched by UID
 */
export async function findRenamed(
  collection: Collection,
  key: ItemKey,
  { hadLink }: { hadLink: boolean },
): Promise<StoredObject | null> {
  collection.renamed ??= allRenamed(collection);
  const { byKey, isWhole } = await collection.renamed;
  return byKey.get(key) ?? (isWhole || !hadLink ? null : await searchUid(collection, key));
}

async function allRenamed(collection: Collection): Promise<RenamedObjects> {
  const tagged = await searched(collection, null);
  const isWhole = tagged.length === 0;
  const urls = isWhole ? (await readChanges(collection, null)).changed : tagged;
  const others = urls.filter((url) => isMember(collection.url, url) && !isOwnName(url));
  const byKey = new Map<ItemKey, StoredObject>();
  for (const stored of (await multiget(collection, others)).values()) {
    const key = keyOf(stored, collection.ownerTag);
    if (key === null) continue;
    const other = byKey.get(key)?.content?.revision ?? -1;
    if ((stored.content?.revision ?? 0) > other) byKey.set(key, stored);
  }
  return { byKey, isWhole };
}

/** Fetches the object with a UID in use by the server's search; otherwise as {@link findRenamed}. */
export async function findByUid(collection: Collection, key: ItemKey): Promise<StoredObject | null> {
  return (await searchUid(collection, key)) ?? (await findRenamed(collection, key, { hadLink: false }));
}

async function searchUid(collection: Collection, key: ItemKey): Promise<StoredObject | null> {
  const found = await matching(() => findByProperty(collection, 'UID', key));
  const urls = found.filter((url) => isMember(collection.url, url) && !isOwnName(url));
  const objects = [...(await multiget(collection, urls)).values()];
  const bearing = objects.filter((stored) => keyOf(stored, collection.ownerTag) === key);
  const [latest] = bearing.sort((one, other) => (other.content?.revision ?? 0) - (one.content?.revision ?? 0));
  return latest ?? null;
}

function isOwnName(url: URL): boolean {
  return /^[0-9a-v]{32}\.ics$/.test(nameOf(url));
}

/** Returns own objects as remote items, and unreadable objects, whose owner the caller knows by their name. */
export function toRemoteItems({ ownerTag }: Collection, objects: Iterable<StoredObject>): RemoteItem[] {
  const items: RemoteItem[] = [];
  for (const stored of objects) {
    const key = keyOf(stored, ownerTag);
    if (key !== null) items.push(toRemoteItem(stored, key, ownerTag));
    else if (stored.isUnreadable === true) items.push(toRemoteItem(stored, nameOf(stored.url), ownerTag));
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
