import type { ApiAnswer } from '../kit/answer.ts';
import { calendarFor, checkQuery, type MailboxContext, wholeNumber } from './call.ts';
import { GraphError, invalidRequest } from './errors.ts';
import { filteredEvents, ordered } from './event-filter.ts';
import { type EventResource, toResource, type View } from './event-resource.ts';
import type { StoredEvent } from './event-store.ts';
import { parseExpand, parseFilter } from './odata-filter.ts';
import { parseQueryTime } from './time.ts';

const LIST_QUERY = ['$top', '$skip', '$select', '$expand', '$filter', '$orderby', '$count'];
const DEFAULT_TOP = 10;
/** learn.microsoft.com/graph/query-parameters: Outlook lists give at most 1,000 items a page. */
const MAX_TOP = 1000;

/** A time window, epoch ms. */
export interface Window {
  startMs: number;
  endMs: number;
}

/** GET …/events: a page of the events of one calendar. Throws GraphError. */
export function listEvents(context: MailboxContext): ApiAnswer {
  checkQuery(context.query, LIST_QUERY);
  return page(context, matching(context), context.query.get('$orderby'));
}

/** GET …/calendarView: a page of what happens in a window, in order of start. Throws GraphError. */
export function listCalendarView(context: MailboxContext): ApiAnswer {
  checkQuery(context.query, [...LIST_QUERY, 'startDateTime', 'endDateTime']);
  const window = readWindow(context.query);
  const events = matching(context).filter((event) => isInWindow(event, window));
  return page(context, events, context.query.get('$orderby') ?? 'start/dateTime');
}

/** The window of a calendar view. Throws GraphError 400. */
export function readWindow(query: URLSearchParams): Window {
  const startMs = parseQueryTime(query.get('startDateTime') ?? '');
  const endMs = parseQueryTime(query.get('endDateTime') ?? '');
  if (startMs === undefined || endMs === undefined || endMs < startMs) {
    const message =
      "This request requires a time window specified by the query string parameters 'startDateTime' and 'endDateTime'.";
    throw new GraphError(400, 'ErrorInvalidParameter', message);
  }
  return { startMs, endMs };
}

/** True when an event touches the window. */
export function isInWindow(event: StoredEvent, { startMs, endMs }: Window): boolean {
  return event.startMs < endMs && (event.endMs > startMs || event.startMs === startMs);
}

/** Returns the form in which this call shows events. Throws GraphError 400. */
export function viewOf({ mailbox, world, preferences, query }: MailboxContext): View {
  return { mailbox, settings: world.settings, preferences, expanded: parseExpand(query.get('$expand')) };
}

/** The fields named by `$select`, with id and etag. Throws GraphError 400 for a name that events don't have. */
export function selected(resource: EventResource, select: string | null): object {
  if (select === null) {
    return resource;
  }
  const names = ['@odata.etag', 'id', ...select.split(',').map((name) => name.trim())];
  const picked: Record<string, unknown> = {};
  for (const name of names) {
    if (name in resource) {
      picked[name] = resource[name];
    } else if (name !== 'transactionId' && name !== 'singleValueExtendedProperties') {
      throw invalidRequest('A name in $select is no property of an event.');
    }
  }
  if (resource.singleValueExtendedProperties) {
    picked.singleValueExtendedProperties = resource.singleValueExtendedProperties;
  }
  return picked;
}

/** A link to another page of the same list. */
export function linkTo({ call }: MailboxContext, parameters: Record<string, string>, keepQuery = true): string {
  const url = new URL(call.url, call.origin);
  const query = keepQuery ? url.searchParams : new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    query.set(name, value);
  }
  const encoded = [...query].map(([name, value]) => `${name.replace(/[^$\w]/g, '')}=${encodeURIComponent(value)}`);
  return `${url.origin}${url.pathname}?${encoded.join('&')}`;
}

function matching(context: MailboxContext): StoredEvent[] {
  const filter = context.query.get('$filter');
  return filteredEvents(context.mailbox, calendarFor(context), filter === null ? undefined : parseFilter(filter));
}

function page(context: MailboxContext, events: StoredEvent[], orderBy: string | null): ApiAnswer {
  const { query, preferences, mailbox, call } = context;
  const top = wholeNumber(query, '$top', 1) ?? Math.min(preferences.maxPageSize ?? DEFAULT_TOP, MAX_TOP);
  if (top > MAX_TOP) {
    throw new GraphError(400, 'ErrorInvalidParameter', `The limit of '${MAX_TOP}' for $top has been exceeded.`);
  }
  const skip = wholeNumber(query, '$skip', 0) ?? 0;
  const view = viewOf(context);
  const select = query.get('$select');
  const shown = ordered(events, orderBy).slice(skip, skip + top);
  return {
    status: 200,
    body: {
      '@odata.context': `${call.origin}/v1.0/$metadata#users('${mailbox.id}')/events`,
      ...(query.get('$count') === 'true' ? { '@odata.count': events.length } : {}),
      value: shown.map((event) => selected(toResource(event, view), select)),
      ...(skip + top < events.length ? { '@odata.nextLink': linkTo(context, { $skip: String(skip + top) }) } : {}),
    },
  };
}
