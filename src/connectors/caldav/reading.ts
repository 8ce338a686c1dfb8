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
 * Looks at one object; null when it is gone from a calendar that is there.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote`, code `server-error`, of this object alone, where it can't be read
 */
export async function lookUp(collection: Collection, url: URL): Promise<StoredObject | null> {
  const found = await multiget(collection, [url]).catch((error) => {
    if (!isUnreadable(error)) throw error;
    throw errors.make('server-error', { status: error.status, cause: error });
  });
  return found.get(comparablePath(url)) ?? null;
}

/**
 * Reads objects by address, those that are there, by comparable path.
 * @throws MirrorError `settings`, code `calendar-gone`
 */
export async function multiget(collection: Collection, urls: readonly URL[]): Promise<Map<string, StoredObject>> {
  const found = new Map<string, StoredObject>();
  for (const asked of slices(urls, MULTIGET_SIZE)) {
    for (const stored of await readSome(collection, asked)) found.set(comparablePath(stored.url), stored);
  }
  return found;
}

/** @param areListed the calendar names each of them among its members */
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
    // An object that people filled takes a while to parse.
    await setImmediate();
    if (stored !== null) found.push(stored);
  }
  const isSilent = missing.length === asked.length;
  return [...found, ...(await lookFor(collection, missing, isSilent))];
}

/**
 * Reads what a server refuses to tell together, as some do for one that is absent. One listing tells which are there, for all of them; what
 * is refused nevertheless is halved until the guilty one stands alone. One that is listed, and can not be read, is not absent.
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
 * Objects of which a multiget says nothing: some servers leave out what is absent, others at times what is there. A single one is asked
 * for; one listing tells which of several are there at all.
 * @param isSilent the multiget told of nothing that was asked for, as some servers do of a calendar that is gone
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
    // Somebody else's, in a shared calendar; unless the calendar may not be read either.
    await proveThere(collection);
    return { url, etag: null, content: null };
  }
  if (answer.status !== 200) throw readRefused(answer.status);
  return { url, etag: strongTag(answer.headers.get('etag')), content: fromCalendarObject(answer.body) };
}

function storedObject(url: URL, member: DavMember): StoredObject | null {
  if (member.status === 404 || member.status === 410) return null;
  // There, but not to be read by this login: somebody else's, in a shared calendar.
  if (member.status === 403) return { url, etag: null, content: null };
  const data = member.properties.get(`${CALDAV}calendar-data`);
  if (data === undefined) throw readRefused(member.status ?? 207);
  return { url, etag: strongTag(member.properties.get(`${DAV}getetag`)?.text), content: fromCalendarObject(data.text) };
}

function multigetBody(urls: readonly URL[]): string {
  const hrefs = urls.map((url) => `<D:href>${escapeXml(url.pathname)}</D:href>`).join('');
  return `<C:calendar-multiget ${NAMESPACES}><D:prop><D:getetag/><C:calendar-data/></D:prop>${hrefs}</C:calendar-multiget>`;
}

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
