import { pathSegment } from '../../core/model/path-segment.ts';
import { isSuccess, type WireResponse, walkPages } from '../wire.ts';
import { errors } from './errors.ts';
import { API_VERSION, EVENT_FIELDS, EVENTS_PAGE_SIZE, PROPERTIES } from './limits.ts';
import { pageSchema } from './schemas.ts';

/** Returns the path of a mailbox: the mailbox of the signed-in user, or a mailbox by user principal name. */
export function mailboxPath(mailbox: string): string {
  return mailbox === 'me' ? '/me' : `/users/${pathSegment(mailbox)}`;
}

/**
 * Returns the resource of a subscription: the events of one calendar. `@` and `=` are not escaped, as in the examples of the reference
 * (learn.microsoft.com/graph/outlook-change-notifications-overview).
 */
export function subscriptionResource(mailbox: string, calendarId: string): string {
  const segment = (text: string) => pathSegment(text).replaceAll('%40', '@').replaceAll('%3D', '=');
  return `${mailbox === 'me' ? 'me' : `users/${segment(mailbox)}`}/calendars/${segment(calendarId)}/events`;
}

/** Appends a query to a path. Values are percent-encoded; parameter names stay readable. */
export function withQuery(path: string, query: Readonly<Record<string, string | number>>): string {
  const parts = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** Query for the event fields in use and clinic-mirror's properties. */
export const EVENT_QUERY = { $select: EVENT_FIELDS, $expand: expandProperties(Object.values(PROPERTIES)) } as const;

/** Returns the query for events with a property value. Values must be lower case: see PROPERTIES. */
export function eventsQuery(property: string, value: string, further: readonly string[] = []) {
  const filter = [carries(property, value), ...further].join(' and ');
  return { $filter: filter, ...EVENT_QUERY, $top: EVENTS_PAGE_SIZE };
}

/** Returns an `$expand` value for extended properties. */
export function expandProperties(ids: readonly string[]): string {
  return `singleValueExtendedProperties($filter=${ids.map((id) => `id eq '${id}'`).join(' or ')})`;
}

/** Owner tag and key contain only `[0-9a-v]`, so no quoting is required. */
function carries(property: string, value: string): string {
  return `singleValueExtendedProperties/Any(ep: ep/id eq '${property}' and ep/value eq '${value}')`;
}

/** One page of a list, with the path of the next page; null at the end. A page may be empty without being the last page. */
export interface Page {
  elements: unknown[];
  next: string | null;
  /** At the end of a delta round, the path for later changes. */
  delta: string | null;
}

/**
 * Parses a page of a list of events or calendars.
 * @throws MirrorError `contract` if the response is not a page
 */
export function readPage(answer: WireResponse): Page {
  const page = pageOf(answer);
  if (page === null) throw errors.make('unexpected-answer');
  return page;
}

/**
 * Fetches the elements of a list, page by page.
 * @param ask returns a response with any status
 * @param refused creates the error for an unsuccessful response
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

/** Parses a page, or returns null if the response is not a page. */
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

/** Returns path and query of a link without the host: credentials must not go to a host from a response. */
function pathOfLink(link: string): string | null {
  if (!URL.canParse(link)) return null;
  const { pathname, search } = new URL(link);
  const version = `/${API_VERSION}/`;
  const start = pathname.indexOf(version);
  return start < 0 ? null : pathname.slice(start + version.length - 1) + search;
}
