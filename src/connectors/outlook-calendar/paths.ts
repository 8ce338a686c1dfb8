import { isSuccess, type WireResponse, walkPages } from '../wire.ts';
import { errors } from './errors.ts';
import { API_VERSION, EVENT_FIELDS, EVENTS_PAGE_SIZE, PROPERTIES } from './limits.ts';
import { pageSchema } from './schemas.ts';

/** The path of a mailbox: the logged-in person's, or one by its user principal name. */
export function mailboxPath(mailbox: string): string {
  return mailbox === 'me' ? '/me' : `/users/${encodeURIComponent(mailbox)}`;
}

/**
 * What a subscription is about: the events of one calendar. `@` and `=` stay as they are, as in the examples of the reference
 * (learn.microsoft.com/graph/outlook-change-notifications-overview).
 */
export function subscriptionResource(mailbox: string, calendarId: string): string {
  const segment = (text: string) => encodeURIComponent(text).replaceAll('%40', '@').replaceAll('%3D', '=');
  return `${mailbox === 'me' ? 'me' : `users/${segment(mailbox)}`}/calendars/${segment(calendarId)}/events`;
}

/** A path with its query, percent-encoded; names of parameters stay readable. */
export function withQuery(path: string, query: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** What is asked for of events: the fields in use, and our own properties. */
export const EVENT_QUERY = { $select: EVENT_FIELDS, $expand: expandProperties(Object.values(PROPERTIES)) } as const;

/** The query of a list of events that carry a value in one of our properties. Values are lower case: see PROPERTIES. */
export function eventsQuery(property: string, value: string, further: readonly string[] = []) {
  const filter = [carries(property, value), ...further].join(' and ');
  return { $filter: filter, ...EVENT_QUERY, $top: EVENTS_PAGE_SIZE };
}

/** Asks for properties along with what carries them. */
export function expandProperties(ids: readonly string[]): string {
  return `singleValueExtendedProperties($filter=${ids.map((id) => `id eq '${id}'`).join(' or ')})`;
}

/** Owner tag and key are of `[0-9a-v]`, so nothing in them needs quoting. */
function carries(property: string, value: string): string {
  return `singleValueExtendedProperties/Any(ep: ep/id eq '${property}' and ep/value eq '${value}')`;
}

/** One page of a list, and the path of the next; null at the end. A page may be empty and not the last. */
export interface Page {
  elements: unknown[];
  next: string | null;
  /** At the end of a delta round, the path that tells what changes from now on. */
  delta: string | null;
}

/**
 * Reads a page of a list of events or calendars.
 * @throws MirrorError `contract` for what is no page
 */
export function readPage(answer: WireResponse): Page {
  const page = pageOf(answer);
  if (page === null) throw errors.make('unexpected-answer');
  return page;
}

/**
 * The elements of a list, page by page.
 * @param ask gives an answer whatever its status
 * @param refused makes the error of an answer that is not a success
 */
export function walkLists(
  first: string,
  ask: (path: string) => Promise<WireResponse>,
  refused: (answer: WireResponse) => Error,
): AsyncGenerator<unknown[]> {
  const askPage = async (path: string) => {
    const answer = await ask(path);
    if (!isSuccess(answer)) throw refused(answer);
    const { elements: page, next } = readPage(answer);
    return { page, next };
  };
  return walkPages(first, askPage, () => errors.make('unexpected-answer'));
}

/** The same; null for what is no page. */
export function pageOf(answer: WireResponse): Page | null {
  const page = pageSchema.safeParse(answer.body);
  if (!page.success) return null;
  const { value: elements, '@odata.nextLink': nextLink, '@odata.deltaLink': deltaLink } = page.data;
  if (nextLink === undefined) {
    return { elements, next: null, delta: deltaLink === undefined ? null : pathOfLink(deltaLink) };
  }
  const next = pathOfLink(nextLink);
  if (next === null) return null;
  return { elements, next, delta: null };
}

/** Only path and query of a link are followed: our login goes to no host that an answer names. */
function pathOfLink(link: string): string | null {
  if (!URL.canParse(link)) return null;
  const { pathname, search } = new URL(link);
  const version = `/${API_VERSION}/`;
  const start = pathname.indexOf(version);
  return start < 0 ? null : pathname.slice(start + version.length - 1) + search;
}
