import { asCollection, comparablePath, resolveHref } from './addresses.ts';
import { errors } from './errors.ts';
import { calendarGone, readRefused, unexpectedStatus } from './refusals.ts';
import { type DavMember, type DavSession, isMultistatus } from './webdav.ts';
import { CALDAV, child, childrenOf, DAV, NAMESPACES, type XmlElement } from './xml.ts';

/** What asking for a calendar takes. */
interface Asking {
  session: DavSession;
  signal: AbortSignal;
}

/** Asks what decides whether something is a calendar, whose, and what we may do there. */
export const CALENDAR_PROPERTIES =
  `<D:propfind ${NAMESPACES}><D:prop><D:resourcetype/><D:current-user-privilege-set/><D:owner/><D:current-user-principal/>` +
  '<C:supported-calendar-component-set/><C:calendar-description/></D:prop></D:propfind>';

/** The resource at an address; null when there is none. */
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
  // Where redirects led is where the calendar is.
  return { ...member, url: answer.url };
}

/**
 * Asks the calendar itself whether it is there. Servers differ in what they answer of an absent one: a write 403, 405 or 409, a
 * report 207 with nothing in it, and neither proves anything.
 * @throws MirrorError `settings`, code `calendar-gone` among others
 */
export async function proveThere(asking: Asking & { url: URL; isOwn: boolean }): Promise<DavMember> {
  const found = await describe(asking, asking.url);
  if (found === null) throw calendarGone(asking, 404);
  return found;
}

/**
 * The address of what is a calendar for events.
 * @throws MirrorError `settings` unless events can be written there
 */
export function checked(member: DavMember): URL {
  if (!isEventCalendar(member)) throw errors.make('not-a-calendar');
  if (mayWrite(member) === false) throw errors.make('calendar-read-only');
  return asCollection(member.url);
}

/** Whether the server says that it is another principal's (RFC 3744 section 5.1), as of a calendar that somebody shared with the login. */
export function isOfAnother({ url, properties }: DavMember): boolean {
  const [owner, own] = [`${DAV}owner`, `${DAV}current-user-principal`].map((name) => {
    const href = child(properties.get(name), `${DAV}href`)?.text.trim() ?? '';
    return href === '' ? null : comparablePath(asCollection(resolveHref(url, href)));
  });
  return owner != null && own != null && owner !== own;
}

/** Whether the login may write there; null when the server doesn't say. */
export function mayWrite({ properties }: DavMember): boolean | null {
  const privileges = properties.get(`${DAV}current-user-privilege-set`);
  const names = childrenOf(privileges, `${DAV}privilege`).flatMap(({ children }) => children.map(({ name }) => name));
  if (names.length === 0) return null;
  return ['all', 'write', 'write-content', 'bind'].some((name) => names.includes(`${DAV}${name}`));
}

/** Whether something is a calendar, and not one of tasks or journals alone. */
export function isEventCalendar({ properties }: DavMember): boolean {
  if (child(properties.get(`${DAV}resourcetype`), `${CALDAV}calendar`) === undefined) return false;
  const components = properties.get(`${CALDAV}supported-calendar-component-set`);
  return components === undefined || components.children.length === 0 || components.children.some(isEventComponent);
}

function isEventComponent({ attributes }: XmlElement): boolean {
  return attributes.name?.toUpperCase() === 'VEVENT';
}
