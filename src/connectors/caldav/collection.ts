import type { ItemKey, RemoteItem } from '../../core/model/operations.ts';
import { badId } from '../../core/model/path-segment.ts';
import type { Clock } from '../../core/model/time.ts';
import { mayHoldTheirs } from '../event-content.ts';
import { NO_LABELS, type Owned, ownedBy, ownedPart } from '../labels.ts';
import { escapeXml } from '../xml.ts';
import { proveThere } from './calendars.ts';
import { MARK_PROPERTY_NAME, type ObjectContent } from './from-model.ts';
import { MAX_SYNC_PAGES } from './limits.ts';
import {
  comparablePath,
  type DavRequest,
  type DavResponse,
  type DavSession,
  isMember,
  isMultistatus,
  type Multistatus,
  nameOf,
  readProblem,
  readRefused,
} from './webdav.ts';
import { NAMESPACES } from './xml-names.ts';

/** Calendar collection, with the data for one call. */
export interface Collection {
  session: DavSession;
  url: URL;
  /** Whether clinic-mirror created the collection. */
  isOwn: boolean;
  /** Objects without this owner tag are foreign. */
  ownerTag: string;
  clock: Clock;
  signal: AbortSignal;
  /** Own objects that a client renamed, by key, once fetched: one fetch serves a whole call. */
  renamed?: Promise<RenamedObjects>;
}

/** Own objects with other names than their keys. */
export interface RenamedObjects {
  byKey: ReadonlyMap<ItemKey, StoredObject>;
  /** All members of the calendar were fetched, and not only those that the server found by owner tag. */
  isWhole: boolean;
}

/** Object in the collection. */
export interface StoredObject {
  url: URL;
  /** Strong ETag, or null if the server sends none. */
  etag: string | null;
  /** Null if the data is not a readable calendar object. */
  content: ObjectContent | null;
  /** The object exists, but its data is missing or damaged. Absent for readable objects, and for tasks and other components. */
  isUnreadable?: true;
  /** The server listed the object without its data, with this status; absent otherwise. */
  dataStatus?: number;
}

/**
 * Returns the URL for the object of a key: `<key>.ics`, unless the server or a client chose a name (`remoteId`).
 * @throws MirrorError `contract`, code `bad-id`, if the URL is not a member of the collection
 */
export function objectUrl(collection: URL, key: ItemKey, remoteId: string | null): URL {
  const named = remoteId === null || remoteId === key ? `${key}.ics` : remoteId;
  const url = new URL(`./${named}`, collection);
  // An empty name or a name of dots would be the collection or its parent.
  if (!isMember(collection, url)) throw badId();
  return url;
}

/** Returns the remote id of an object: the key if the object has the derived name, otherwise the object's name. */
export function remoteIdOf(url: URL, key: ItemKey): string {
  const name = nameOf(url);
  return name === `${key}.ics` ? key : name;
}

/**
 * Returns the key of an object that clinic-mirror created, or null. The UID or the name is a key, which only clinic-mirror can produce, and
 * the owner tag names no other target. A user's copy has a different UID and name.
 */
export function keyOf(stored: StoredObject, ownerTag: string): ItemKey | null {
  return ownedAt(stored, ownerTag)?.key ?? null;
}

function ownedAt({ url, content }: StoredObject, ownerTag: string): Owned | null {
  const [name] = /^[^.]+(?=\.ics$)/.exec(nameOf(url)) ?? [];
  return ownedBy(ownerTag, content ?? NO_LABELS, [content?.uid, name]);
}

/** Converts an object with a key to the contract's form. */
export function toRemoteItem(stored: StoredObject, key: ItemKey, ownerTag: string): RemoteItem {
  const { url, etag, content } = stored;
  const remoteId = remoteIdOf(url, key);
  if (content === null) return { key, sealedRecordId: null, remoteId, versionTag: etag, item: null, unreadable: true };
  const owned = ownedPart(ownedAt(stored, ownerTag) ?? { ...content, marksLost: true });
  return { key, remoteId, versionTag: versionTagOf(etag, content), item: content.item, ...owned };
}

/**
 * Returns the version tag of an object. If users added or removed content, the tag is weak: the next write then fetches the object first
 * and keeps users' changes. Otherwise the tag is the ETag, and a write needs no fetch.
 */
export function versionTagOf(
  etag: string | null,
  { userText, descriptionParts, presets }: Pick<ObjectContent, 'userText' | 'descriptionParts' | 'presets'>,
): string | null {
  const isOursAlone = userText === '' && !mayHoldTheirs(descriptionParts) && presets.theirs.size === 0;
  return etag === null || isOursAlone ? etag : `W/${etag}`;
}

/** Returns URLs of events with a property value, as far as the server's filter finds them. */
export async function findByProperty(
  collection: Collection,
  name: string,
  value: string,
  range = '',
): Promise<Multistatus> {
  const match = `<C:text-match collation="i;octet">${escapeXml(value)}</C:text-match>`;
  return await report(collection, queryBody(`${range}<C:prop-filter name="${name}">${match}</C:prop-filter>`));
}

/** Returns URLs of events with the owner tag. */
export async function findByOwnerTag(collection: Collection, range = ''): Promise<Multistatus> {
  return await findByProperty(collection, MARK_PROPERTY_NAME, collection.ownerTag, range);
}

/**
 * Sends a REPORT to the collection.
 * @throws MirrorError `settings`, code `calendar-gone`; any response except 207 is an error
 */
async function report(collection: Collection, body: string): Promise<Multistatus> {
  const answer = await askCollection(collection, { method: 'REPORT', headers: { depth: '1' }, body });
  if (!isMultistatus(answer)) throw readRefused(answer.status);
  return answer;
}

/**
 * Sends a request to the collection. A 404 or 410 may concern a listed member, or a report that the server does not support.
 * @throws MirrorError `settings`, code `calendar-gone`, if a request to only the calendar confirms the absence
 */
export async function askCollection(
  collection: Collection,
  request: Omit<DavRequest, 'url'>,
): Promise<Multistatus | DavResponse> {
  const answer = await collection.session.ask({ ...request, url: collection.url }, collection.signal);
  if (!isMultistatus(answer) && (answer.status === 404 || answer.status === 410)) await proveThere(collection);
  return answer;
}

/** The event filter is always present, since some servers refuse a query without a filter. */
function queryBody(eventFilter: string): string {
  const events = `<C:comp-filter name="VEVENT">${eventFilter}</C:comp-filter>`;
  const filter = `<C:filter><C:comp-filter name="VCALENDAR">${events}</C:comp-filter></C:filter>`;
  return `<C:calendar-query ${NAMESPACES}><D:prop><D:getetag/></D:prop>${filter}</C:calendar-query>`;
}

/** Changes in a collection since a token, or all members. */
export interface Changes {
  /** New or changed members; with `isWhole`, all members. */
  changed: URL[];
  removed: URL[];
  /** Token for the next request; null if the server provides none. */
  token: string | null;
  /** If true, members missing from `changed` do not exist. */
  isWhole: boolean;
}

/**
 * Fetches the members that changed since a token, or all members without a token. If the server rejects the token, fetches the complete
 * list. If the server has no sync reports, uses PROPFIND.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote` if the server fails to list members too
 * @see RFC 6578
 */
export async function readChanges(collection: Collection, token: string | null): Promise<Changes> {
  const changes = await followReports(collection, token);
  if (changes !== null) return changes;
  const whole = token === null ? null : await followReports(collection, null);
  return whole ?? { changed: await listMembers(collection), removed: [], token: null, isWhole: true };
}

/** Follows the pages of the report. Returns null if the server refuses the report in any form. */
async function followReports(collection: Collection, token: string | null): Promise<Changes | null> {
  const found = new Map<string, { url: URL; isGone: boolean }>();
  let current = token;
  for (let page = 0; page < MAX_SYNC_PAGES; page += 1) {
    const answer = await askForChanges(collection, current);
    if (!isMultistatus(answer)) return refused(answer);
    for (const { url, status } of answer.members) {
      if (isMember(collection.url, url)) found.set(comparablePath(url), { url, isGone: status === 404 });
    }
    // Each response contains a token (RFC 6578 section 3.6). A response without a token is invalid; some servers send it for an absent
    // calendar.
    if (answer.syncToken === null) return null;
    if (!answer.truncated) return toChanges(found.values(), answer.syncToken, token === null);
    // A page with an unchanged token would be requested forever.
    if (answer.syncToken === current) return null;
    current = answer.syncToken;
  }
  return null;
}

async function askForChanges(collection: Collection, token: string | null): Promise<Multistatus | DavResponse> {
  const body =
    `<D:sync-collection ${NAMESPACES}><D:sync-token>${escapeXml(token ?? '')}</D:sync-token>` +
    '<D:sync-level>1</D:sync-level><D:prop><D:getetag/></D:prop></D:sync-collection>';
  return await askCollection(collection, { method: 'REPORT', headers: { depth: '0' }, body });
}

/** Servers reject an invalid token with 403 or 409 and `valid-sync-token`, some with 400 or 5xx, or with 507 as the whole response. */
function refused(answer: DavResponse): null {
  const isToken = readProblem(answer.body).conditions.includes('valid-sync-token');
  if (isToken || answer.status >= 400) return null;
  throw readRefused(answer.status);
}

function toChanges(found: Iterable<{ url: URL; isGone: boolean }>, token: string | null, isWhole: boolean): Changes {
  const changes: Changes = { changed: [], removed: [], token, isWhole };
  for (const { url, isGone } of found) (isGone ? changes.removed : changes.changed).push(url);
  return changes;
}

/**
 * Lists the URLs of all members by PROPFIND.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote` if the server fails
 */
export async function listMembers(collection: Collection): Promise<URL[]> {
  const body = `<D:propfind ${NAMESPACES}><D:prop><D:getetag/></D:prop></D:propfind>`;
  const answer = await askCollection(collection, { method: 'PROPFIND', headers: { depth: '1' }, body });
  if (!isMultistatus(answer) || answer.truncated) throw readRefused('status' in answer ? answer.status : 507);
  // The response for an existing calendar contains the calendar.
  if (answer.members.length === 0) await proveThere(collection);
  const members = answer.members.filter(({ url, status }) => status !== 404 && isMember(collection.url, url));
  return members.map(({ url }) => url);
}
