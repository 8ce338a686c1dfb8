import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { Clock } from '../../model/time.ts';
import { withRevision } from '../revision.ts';
import { nameOf } from './addresses.ts';
import { proveThere } from './calendar-resource.ts';
import { MARK_PROPERTY_NAME, type ObjectContent } from './from-model.ts';
import { readRefused } from './refusals.ts';
import { type DavRequest, type DavResponse, type DavSession, isMultistatus, type Multistatus } from './webdav.ts';
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
  { kept, notes, presets }: Pick<ObjectContent, 'kept' | 'notes' | 'presets'>,
): string | null {
  const isOursAlone = kept === '' && notes.theirs === '' && presets.theirs.size === 0;
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
