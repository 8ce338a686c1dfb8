import { EVENT_FIELDS, EVENTS_PAGE_SIZE, PROPERTIES } from './limits.ts';

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
