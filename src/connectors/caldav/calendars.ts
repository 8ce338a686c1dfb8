import { MirrorError } from '../../core/model/errors.ts';
import { type Owner, ownerText, ownOfMarked, refuseOtherKey } from '../owner.ts';
import { child, childrenOf, escapeXml, type XmlElement } from '../xml.ts';
import { errors } from './errors.ts';
import { MAX_CALENDAR_NAMES } from './limits.ts';
import { baseAddress, type CaldavSettings } from './schemas.ts';
import {
  asCollection,
  calendarGone,
  comparablePath,
  type DavMember,
  type DavSession,
  isMultistatus,
  isSameSite,
  nameOf,
  readRefused,
  resolveHref,
  unexpectedStatus,
} from './webdav.ts';
import { CALDAV, CALENDAR_SERVER, DAV, NAMESPACES } from './xml-names.ts';

export interface CalendarSearch {
  session: DavSession;
  settings: CaldavSettings;
  ownerTag: string;
  owner: Owner | null;
  /** Whether a missing calendar is created. */
  creates: boolean;
  signal: AbortSignal;
}

/**
 * Returns the URL of the target's calendar: the configured calendar, the stored calendar, a calendar found by owner tag, or a new calendar.
 * After the server was renamed, the stored calendar is found by owner tag at the new name.
 * The new calendar's name is derived from the owner tag, so that two concurrent workers create only one. The name of a deleted calendar is
 * never reused.
 * @returns null only without `creates`, if the calendar does not exist
 * @throws MirrorError `settings` if the calendar is absent, is read-only or is not a calendar; code `identity-key-changed` if an earlier
 * identity key created a calendar for this target
 */
export async function prepareCalendar(search: CalendarSearch, storedId: string | null): Promise<URL | null> {
  const { calendar } = search.settings;
  if ('url' in calendar) {
    return checked(await proveThere({ ...search, url: asCollection(new URL(calendar.url)), isOwn: false }));
  }
  const base = baseAddress(search.settings);
  const stored = storedId === null ? null : new URL(storedId);
  // The password is not sent to a server that the settings no longer name.
  if (stored === null || !isSameSite(base, stored))
    return preparedIn(search, calendar, await homeOf(search, calendar.home), null);
  const remembered = await describe(search, stored).catch(async (error: unknown) => {
    const moved =
      base.host === stored.host || !isUnreachable(error) ? null : await movedTo(search, calendar.home, stored);
    if (moved === null) throw error;
    return moved;
  });
  if (remembered instanceof URL) return remembered;
  if (remembered !== null) return checked(remembered);
  return preparedIn(search, calendar, await homeOf(search, calendar.home), storedId);
}

async function preparedIn(
  search: CalendarSearch,
  { create }: { create: string },
  home: URL,
  storedId: string | null,
): Promise<URL | null> {
  return (
    (await locateIn(search, home)) ?? (search.creates ? await createCalendar(search, home, create, storedId) : null)
  );
}

/** Returns the calendar if discovery leads to another host of the site than the stored one: the server has a new name. */
async function movedTo(search: CalendarSearch, home: string, stored: URL): Promise<URL | null> {
  const found = await homeOf(search, home);
  return found.host === stored.host ? null : locateIn(search, found);
}

function isUnreachable(error: unknown): boolean {
  return error instanceof MirrorError && (error.code === 'connection-failed' || error.code === 'timeout');
}

async function homeOf({ session, settings, signal }: CalendarSearch, home: string): Promise<URL> {
  return home === 'discover' ? discoverHome(session, baseAddress(settings), signal) : asCollection(new URL(home));
}

async function locateIn(search: CalendarSearch, home: URL): Promise<URL | null> {
  const all = await calendarsIn(search, home);
  const ours = oursOf(all, search);
  if (ours !== undefined) return checked(ours);
  if (search.owner !== null) refuseOtherKey(all.map(descriptionOf), search.owner);
  return null;
}

async function calendarsIn({ session, signal }: CalendarSearch, home: URL): Promise<DavMember[]> {
  const request = { method: 'PROPFIND', url: home, headers: { depth: '1' }, body: CALENDAR_PROPERTIES } as const;
  const answer = await session.ask(request, signal);
  if (!isMultistatus(answer))
    throw answer.status === 404 ? errors.make('calendar-home-missing', { status: 404 }) : readRefused(answer.status);
  return answer.members.filter((member) => isEventCalendar(member));
}

function descriptionOf({ properties }: DavMember): string {
  return properties.get(`${CALDAV}calendar-description`)?.text ?? '';
}

/**
 * Returns a calendar that clinic-mirror created, recognised by its description or name; of several, the first by name. A calendar of a
 * different principal in the connection's home was shared by that principal.
 * @throws MirrorError `settings`, code `calendar-of-another`
 */
function oursOf(
  calendars: readonly DavMember[],
  { ownerTag, settings: { calendar } }: CalendarSearch,
): DavMember | undefined {
  const names = new Set(calendarNames(ownerTag));
  const isOwnHome = 'home' in calendar && calendar.home === 'discover';
  const marked = calendars
    .filter((one) => descriptionOf(one).includes(markedDescription(ownerTag)) || names.has(collectionName(one.url)))
    .map((one) => ({ ...one, isOfAnother: isOwnHome && isOfAnother(one) }));
  return ownOfMarked(marked).sort((one, other) => (comparablePath(one.url) < comparablePath(other.url) ? -1 : 1))[0];
}

/** @param storedId URL of the missing calendar: a new, empty calendar at this URL would look like the old calendar */
async function createCalendar(
  search: CalendarSearch,
  home: URL,
  displayName: string,
  storedId: string | null,
): Promise<URL> {
  for (const name of calendarNames(search.ownerTag)) {
    const url = new URL(`${name}/`, home);
    if (storedId !== null && comparablePath(url) === comparablePath(new URL(storedId))) continue;
    const answer = await search.session.send(
      { method: 'MKCALENDAR', url, headers: XML_CONTENT, body: calendarBody(displayName, search) },
      search.signal,
    );
    // The response does not matter, only the existing calendar: a concurrent worker may have created it.
    const created = (await describe(search, url)) ?? oursOf(await calendarsIn(search, home), search);
    if (created !== undefined) return checked(created);
    if (!isNameTaken(answer.status)) throw creationRefused(answer.status);
  }
  throw creationRefused(405);
}

const XML_CONTENT = { 'content-type': 'application/xml; charset=utf-8' };

/** An invisible resource that uses the name is in a trash bin; the next name is tried. */
function isNameTaken(status: number): boolean {
  return status === 405 || status === 409 || status === 412;
}

function calendarNames(ownerTag: string): string[] {
  const first = `clinic-mirror-${ownerTag}`;
  return Array.from({ length: MAX_CALENDAR_NAMES }, (_, index) => (index === 0 ? first : `${first}-${index + 1}`));
}

function collectionName(url: URL): string {
  return nameOf(new URL(url.pathname.replace(/\/$/, ''), url));
}

/** Description for users, and for finding the calendar: servers may choose a different URL than requested. */
function markedDescription(ownerTag: string): string {
  return `clinic-mirror ${ownerTag}`;
}

function calendarBody(displayName: string, { ownerTag, owner }: Pick<CalendarSearch, 'ownerTag' | 'owner'>): string {
  const description =
    owner === null ? markedDescription(ownerTag) : `${markedDescription(ownerTag)} ${ownerText(owner)}`;
  return (
    `<C:mkcalendar ${NAMESPACES}><D:set><D:prop><D:displayname>${escapeXml(displayName)}</D:displayname>` +
    `<C:calendar-description>${description}</C:calendar-description>` +
    '<C:supported-calendar-component-set><C:comp name="VEVENT"/></C:supported-calendar-component-set>' +
    '</D:prop></D:set></C:mkcalendar>'
  );
}

function creationRefused(status: number): MirrorError {
  return status >= 500 ? unexpectedStatus(status) : errors.make('calendar-creation-refused', { status });
}

interface Asking {
  session: DavSession;
  signal: AbortSignal;
}

/** Requests the properties that show whether a resource is a calendar, its owner and the access rights. */
const CALENDAR_PROPERTIES =
  `<D:propfind ${NAMESPACES}><D:prop><D:resourcetype/><D:current-user-privilege-set/><D:owner/><D:current-user-principal/>` +
  '<C:supported-calendar-component-set/><C:calendar-description/><S:getctag xmlns:S="http://calendarserver.org/ns/"/></D:prop></D:propfind>';

/** Fetches the resource at a URL, or null if the URL has no resource. */
export async function describe({ session, signal }: Asking, url: URL): Promise<DavMember | null> {
  const request = { method: 'PROPFIND', url, headers: { depth: '0' }, body: CALENDAR_PROPERTIES } as const;
  const answer = await session.ask(request, signal);
  if (!isMultistatus(answer)) {
    if (answer.status === 404 || answer.status === 410) return null;
    if (answer.status === 403) throw readRefused(answer.status);
    throw answer.status === 405 || answer.status === 501
      ? errors.make('not-a-calendar')
      : unexpectedStatus(answer.status);
  }
  const [member] = answer.members;
  if (member === undefined || member.status === 404) return null;
  // The calendar's URL is the URL after redirects.
  return { ...member, url: answer.url };
}

/**
 * Proves that the calendar exists by a request to the calendar. For an absent calendar, servers differ: a write returns 403, 405 or 409,
 * and a report returns an empty 207. Neither is a proof.
 * @throws MirrorError `settings`, for example with code `calendar-gone`
 */
export async function proveThere(asking: Asking & { url: URL; isOwn: boolean }): Promise<DavMember> {
  const found = await describe(asking, asking.url);
  if (found === null) throw calendarGone(asking, 404);
  return found;
}

/**
 * Fetches the calendar's tag, which changes with each object in the calendar, or null if the server has none.
 * @throws MirrorError `settings`, code `calendar-gone`
 * @see https://github.com/apple/ccs-calendarserver/blob/master/doc/Extensions/caldav-ctag.txt
 */
export async function readTag(asking: Parameters<typeof proveThere>[0]): Promise<string | null> {
  const { properties } = await proveThere(asking);
  return properties.get(`${CALENDAR_SERVER}getctag`)?.text.trim() || null;
}

/**
 * Returns the URL of a writable calendar for events.
 * @throws MirrorError `settings` unless events can be written
 */
export function checked(member: DavMember): URL {
  if (!isEventCalendar(member)) throw errors.make('not-a-calendar');
  if (mayWrite(member) === false) throw errors.make('calendar-read-only');
  return asCollection(member.url);
}

/**
 * Checks whether the calendar belongs to a different principal (RFC 3744 section 5.1), such as a calendar shared with the connection's
 * account.
 */
function isOfAnother({ url, properties }: DavMember): boolean {
  const [owner, own] = [`${DAV}owner`, `${DAV}current-user-principal`].map((name) => {
    const href = child(properties.get(name), `${DAV}href`)?.text.trim() ?? '';
    const principal = href === '' ? null : resolveHref(url, href);
    return principal === null ? null : comparablePath(asCollection(principal));
  });
  return owner != null && own != null && owner !== own;
}

/** Returns whether the connection has write access, or null if the server does not report access rights. */
export function mayWrite({ properties }: DavMember): boolean | null {
  const privileges = properties.get(`${DAV}current-user-privilege-set`);
  const names = childrenOf(privileges, `${DAV}privilege`).flatMap(({ children }) => children.map(({ name }) => name));
  if (names.length === 0) return null;
  return ['all', 'write', 'write-content', 'bind'].some((name) => names.includes(`${DAV}${name}`));
}

/** Checks whether a resource is a calendar with support for events, not only for tasks or journals. */
function isEventCalendar({ properties }: DavMember): boolean {
  if (child(properties.get(`${DAV}resourcetype`), `${CALDAV}calendar`) === undefined) return false;
  const components = properties.get(`${CALDAV}supported-calendar-component-set`);
  return components === undefined || components.children.length === 0 || components.children.some(isEventComponent);
}

function isEventComponent({ attributes }: XmlElement): boolean {
  return attributes.name?.toUpperCase() === 'VEVENT';
}

/**
 * Finds the calendar home of the connection's account: first the current user's principal, then the principal's first home.
 * @throws MirrorError `settings`, code `discovery-failed`
 * @see RFC 6764 section 6
 * @see RFC 4791 section 6.2.1
 */
async function discoverHome(session: DavSession, base: URL, signal: AbortSignal): Promise<URL> {
  const wellKnown = new URL('/.well-known/caldav', base);
  const starts = base.pathname === '/' ? [wellKnown, base] : [base, wellKnown];
  for (const start of starts) {
    const home = await homeFrom(session, start, signal);
    if (home !== null) return home;
  }
  throw errors.make('discovery-failed');
}

async function homeFrom(session: DavSession, start: URL, signal: AbortSignal): Promise<URL | null> {
  const first = await principalOf(session, start, signal);
  if (first === null || first.home !== null) return first?.home ?? null;
  return first.principal === null ? null : ((await principalOf(session, first.principal, signal))?.home ?? null);
}

interface PrincipalLinks {
  principal: URL | null;
  home: URL | null;
}

async function principalOf(session: DavSession, url: URL, signal: AbortSignal): Promise<PrincipalLinks | null> {
  const body = `<D:propfind ${NAMESPACES}><D:prop><D:current-user-principal/><C:calendar-home-set/></D:prop></D:propfind>`;
  const request = { method: 'PROPFIND', url, headers: { depth: '0' }, body } as const;
  const answer = await session.ask(request, signal).catch(ignoreWebPage);
  if (answer === null || !isMultistatus(answer)) return null;
  const link = (name: string) => {
    const href = answer.members
      .map(({ properties }) => child(properties.get(name), `${DAV}href`)?.text.trim())
      .find((text) => text !== undefined && text !== '');
    return href === undefined ? null : resolveHref(answer.url, href);
  };
  const home = link(`${CALDAV}calendar-home-set`);
  return { principal: link(`${DAV}current-user-principal`), home: home === null ? null : asCollection(home) };
}

/** Many servers return a web page at their root. Discovery then continues at the next URL. */
function ignoreWebPage(error: unknown): null {
  if (error instanceof MirrorError && ['not-a-caldav-answer', 'bad-xml', 'server-error'].includes(error.code))
    return null;
  throw error;
}
