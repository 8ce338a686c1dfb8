import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { Clock } from '../../model/time.ts';
import { withRevision } from '../revision.ts';
import { comparablePath, nameOf } from './addresses.ts';
import { errors } from './errors.ts';
import { fromCalendarObject, MARK_PROPERTY_NAME, type ObjectContent } from './from-model.ts';
import { MULTIGET_SIZE } from './limits.ts';
import { readRefused } from './refusals.ts';
import {
  type DavMember,
  type DavRequest,
  type DavResponse,
  type DavSession,
  isMultistatus,
  type Multistatus,
  strongTag,
} from './webdav.ts';
import { CALDAV, DAV, escapeXml } from './xml.ts';

/** One calendar collection, as a call works with it. */
export interface Collection {
  session: DavSession;
  url: URL;
  /** Objects that carry another owner tag, or none, are not ours. */
  ownerTag: string;
  clock: Clock;
  signal: AbortSignal;
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

/** Namespaces of every request body. */
export const NAMESPACES = 'xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"';
const ETAG_ONLY = '<D:prop><D:getetag/></D:prop>';
const ETAG_AND_DATA = '<D:prop><D:getetag/><C:calendar-data/></D:prop>';

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
  return { key, sealedRecordId, remoteId: remoteIdOf(url, key), versionTag: etag, item, ...withRevision(revision) };
}

/**
 * Looks at one object. That the collection answers proves it reachable, so null means that the object is gone.
 * @throws MirrorError `settings`, code `calendar-gone`
 */
export async function lookUp(collection: Collection, url: URL): Promise<StoredObject | null> {
  const found = await multiget(collection, [url]);
  return found.get(comparablePath(url)) ?? null;
}

/**
 * Reads objects by address, those that are there, by comparable path.
 * @throws MirrorError `settings`, code `calendar-gone`
 */
export async function multiget(collection: Collection, urls: readonly URL[]): Promise<Map<string, StoredObject>> {
  const found = new Map<string, StoredObject>();
  for (let start = 0; start < urls.length; start += MULTIGET_SIZE) {
    const asked = urls.slice(start, start + MULTIGET_SIZE);
    const { members } = await report(collection, multigetBody(asked));
    const answered = new Map(members.map((member) => [comparablePath(member.url), member]));
    for (const url of asked) {
      const path = comparablePath(url);
      const member = answered.get(path);
      const stored = member === undefined ? await get(collection, url) : storedObject(url, member);
      if (stored !== null) found.set(path, stored);
    }
  }
  return found;
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
export async function findByMark(collection: Collection, range = ''): Promise<Multistatus> {
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

/** Asks the collection itself; a 404 or 410 for it is one error for the whole target. */
export async function askCollection(
  collection: Collection,
  request: Omit<DavRequest, 'url'>,
): Promise<Multistatus | DavResponse> {
  const answer = await collection.session.ask({ ...request, url: collection.url }, collection.signal);
  if (!isMultistatus(answer) && (answer.status === 404 || answer.status === 410))
    throw errors.make('calendar-gone', { status: answer.status });
  return answer;
}

/** Some servers leave an object out of a multiget's answer; then it is asked for alone. */
async function get(collection: Collection, url: URL): Promise<StoredObject | null> {
  const answer = await collection.session.send({ method: 'GET', url }, collection.signal);
  if (answer.status === 404 || answer.status === 410) return null;
  if (answer.status !== 200) throw readRefused(answer.status);
  return { url, etag: strongTag(answer.headers.get('etag')), content: fromCalendarObject(answer.body) };
}

function storedObject(url: URL, member: DavMember): StoredObject | null {
  if (member.status === 404 || member.status === 410) return null;
  // There, but not to be read by this login: somebody else's, in a shared calendar.
  if (member.status === 403) return { url, etag: null, content: null };
  const data = member.properties.get(`${CALDAV}calendar-data`);
  if (data === undefined) throw readRefused(member.status ?? 207);
  return { url, etag: tagOf(member), content: fromCalendarObject(data.text) };
}

function tagOf(member: DavMember): string | null {
  return strongTag(member.properties.get(`${DAV}getetag`)?.text);
}

function multigetBody(urls: readonly URL[]): string {
  const hrefs = urls.map((url) => `<D:href>${escapeXml(url.pathname)}</D:href>`).join('');
  return `<C:calendar-multiget ${NAMESPACES}>${ETAG_AND_DATA}${hrefs}</C:calendar-multiget>`;
}

/** The event filter is always there: some servers refuse a query without one. */
function queryBody(eventFilter: string): string {
  const events = `<C:comp-filter name="VEVENT">${eventFilter}</C:comp-filter>`;
  const filter = `<C:filter><C:comp-filter name="VCALENDAR">${events}</C:comp-filter></C:filter>`;
  return `<C:calendar-query ${NAMESPACES}>${ETAG_ONLY}${filter}</C:calendar-query>`;
}
