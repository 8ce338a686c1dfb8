import { setImmediate } from 'node:timers/promises';
import { slices } from '../../model/pieces.ts';
import { comparablePath } from './addresses.ts';
import { proveThere } from './calendars.ts';
import { askCollection, type Collection, listMembers, type StoredObject } from './collection.ts';
import { errors } from './errors.ts';
import { fromCalendarObject } from './from-model.ts';
import { MULTIGET_SIZE } from './limits.ts';
import { isUnreadable, readRefused } from './refusals.ts';
import { type DavMember, isMultistatus, strongTag } from './webdav.ts';
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
