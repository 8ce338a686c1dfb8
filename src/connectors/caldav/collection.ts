import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { Clock } from '../../model/time.ts';
import { withRevision } from '../owner.ts';
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
import { escapeXml, NAMESPACES } from './xml.ts';

/** One calendar collection, as a call works with it. */
export interface Collection {
  session: DavSession;
  url: URL;
  /** We made it. */
  isOwn: boolean;
  /** Objects that carry another owner tag, or none, are not ours. */
  ownerTag: string;
  clock: Clock;
  signal: AbortSignal;
  /** Objects of ours that a client gave other names, by key, once they were looked for: one look serves a whole call. */
  renamed?: Promise<ReadonlyMap<ItemKey, StoredObject>>;
}

/** An object that is there. */
export interface StoredObject {
  url: URL;
  /** Strong ETag; null when the server gives none. */
  etag: string | null;
  /** Null when it is no calendar object that can be read. */
  content: ObjectContent | null;
}

/** Keys are the names of our objects; anything else was named by somebody else. */
const KEY = /^[0-9a-v]{32}$/;

/** Where the object of a key is put: `<key>.ics`, unless the server or somebody else named it (`remoteId`). */
export function objectUrl(collection: URL, key: ItemKey, remoteId: string | null): URL {
  const named = remoteId === null || remoteId === key ? `${key}.ics` : remoteId;
  return new URL(`./${named}`, collection);
}

/** The remote id of an object: its key when it carries the name derived from it, else its name. */
export function remoteIdOf(url: URL, key: ItemKey): string {
  const name = nameOf(url);
  return name === `${key}.ics` ? key : name;
}

/** Whether an object is one that we wrote: our owner tag, and a key of ours as UID. A copy that a person made has another UID. */
export function isOurs(content: ObjectContent | null, ownerTag: string): content is ObjectContent & { uid: ItemKey } {
  return content !== null && content.ownerTag === ownerTag && content.uid !== null && KEY.test(content.uid);
}

/** An object of ours in the words of the contract. */
export function toRemoteItem(url: URL, etag: string | null, content: ObjectContent & { uid: ItemKey }): RemoteItem {
  const { uid: key, sealedRecordId, item, revision } = content;
  const versionTag = versionTagOf(etag, content);
  return { key, sealedRecordId, remoteId: remoteIdOf(url, key), versionTag, item, ...withRevision(revision) };
}

/**
 * The version tag of an object. Where people added something, or took something off, it is a weak one, which no write goes by, so that the
 * next one looks first and leaves that so. Of an object that holds nothing but ours it is the ETag, by which a write needs no look.
 */
export function versionTagOf(
  etag: string | null,
  { userText, descriptionParts, presets }: Pick<ObjectContent, 'userText' | 'descriptionParts' | 'presets'>,
): string | null {
  const isOursAlone = userText === '' && descriptionParts.theirs === '' && presets.theirs.size === 0;
  return etag === null || isOursAlone ? etag : `W/${etag}`;
}

/** Addresses of the events whose property has this value, as far as the server's filter finds them. */
export async function findByProperty(
  collection: Collection,
  name: string,
  value: string,
  range = '',
): Promise<Multistatus> {
  const match = `<C:text-match collation="i;octet">${escapeXml(value)}</C:text-match>`;
  return await report(collection, queryBody(`${range}<C:prop-filter name="${name}">${match}</C:prop-filter>`));
}

/** Addresses of the events that carry our owner tag. */
export async function findByOwnerTag(collection: Collection, range = ''): Promise<Multistatus> {
  return await findByProperty(collection, MARK_PROPERTY_NAME, collection.ownerTag, range);
}

/**
 * Sends a REPORT to the collection.
 * @throws MirrorError `settings`, code `calendar-gone`; anything but a 207 is an error
 */
async function report(collection: Collection, body: string): Promise<Multistatus> {
  const answer = await askCollection(collection, { method: 'REPORT', headers: { depth: '1' }, body });
  if (!isMultistatus(answer)) throw readRefused(answer.status);
  return answer;
}

/**
 * Asks the collection something. A 404 or 410 may be about a member that was named, or a question that the server does not know.
 * @throws MirrorError `settings`, code `calendar-gone`, where the calendar, asked alone, says so
 */
export async function askCollection(
  collection: Collection,
  request: Omit<DavRequest, 'url'>,
): Promise<Multistatus | DavResponse> {
  const answer = await collection.session.ask({ ...request, url: collection.url }, collection.signal);
  if (!isMultistatus(answer) && (answer.status === 404 || answer.status === 410)) await proveThere(collection);
  return answer;
}

/** The event filter is always there: some servers refuse a query without one. */
function queryBody(eventFilter: string): string {
  const events = `<C:comp-filter name="VEVENT">${eventFilter}</C:comp-filter>`;
  const filter = `<C:filter><C:comp-filter name="VCALENDAR">${events}</C:comp-filter></C:filter>`;
  return `<C:calendar-query ${NAMESPACES}><D:prop><D:getetag/></D:prop>${filter}</C:calendar-query>`;
}

/** What changed in a collection since a token, or all that is in it. */
export interface Changes {
  /** Members that are new or changed; with `isWhole`, all members. */
  changed: URL[];
  removed: URL[];
  /** To ask with the next time; null when the server has none to give. */
  token: string | null;
  /** The answer starts from nothing: what it doesn't name is not there. */
  isWhole: boolean;
}

/**
 * The members that changed since a token, or all members without one. A token that the server no longer takes
 * leads to a whole listing, and so does a server without such reports: then by PROPFIND.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote` when the server fails at the listing too
 * @see RFC 6578
 */
export async function readChanges(collection: Collection, token: string | null): Promise<Changes> {
  const changes = await followReports(collection, token);
  if (changes !== null) return changes;
  const whole = token === null ? null : await followReports(collection, null);
  return whole ?? { changed: await listMembers(collection), removed: [], token: null, isWhole: true };
}

/** Follows the report through its pages; null when the server refuses it, in whichever way it does. */
async function followReports(collection: Collection, token: string | null): Promise<Changes | null> {
  const found = new Map<string, { url: URL; isGone: boolean }>();
  let current = token;
  for (let page = 0; page < MAX_SYNC_PAGES; page += 1) {
    const answer = await askForChanges(collection, current);
    if (!isMultistatus(answer)) return refused(answer);
    for (const { url, status } of answer.members) {
      if (isMember(collection.url, url)) found.set(comparablePath(url), { url, isGone: status === 404 });
    }
    // Every answer ends with a token (RFC 6578 section 3.6): one without is none, as some servers give of a calendar that is gone.
    if (answer.syncToken === null) return null;
    if (!answer.truncated) return toChanges(found.values(), answer.syncToken, token === null);
    // A page that leads nowhere would be asked for forever.
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

/** An invalid token comes as 403 or 409 with `valid-sync-token`, and from some servers as 400 or 5xx; 507 as a whole answer. */
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
 * Addresses of all members, by PROPFIND.
 * @throws MirrorError `settings`, code `calendar-gone`; `remote` where the server fails at it
 */
export async function listMembers(collection: Collection): Promise<URL[]> {
  const body = `<D:propfind ${NAMESPACES}><D:prop><D:getetag/></D:prop></D:propfind>`;
  const answer = await askCollection(collection, { method: 'PROPFIND', headers: { depth: '1' }, body });
  if (!isMultistatus(answer) || answer.truncated) throw readRefused('status' in answer ? answer.status : 507);
  // A calendar that is there is named itself.
  if (answer.members.length === 0) await proveThere(collection);
  const members = answer.members.filter(({ url, status }) => status !== 404 && isMember(collection.url, url));
  return members.map(({ url }) => url);
}
