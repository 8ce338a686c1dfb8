import { comparablePath, isMember } from './addresses.ts';
import { proveThere } from './calendar-resource.ts';
import { askCollection, type Collection } from './collection.ts';
import { MAX_SYNC_PAGES } from './limits.ts';
import { readProblem, readRefused } from './refusals.ts';
import { type DavResponse, isMultistatus, type Multistatus } from './webdav.ts';
import { escapeXml, NAMESPACES } from './xml.ts';

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
