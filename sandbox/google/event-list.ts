import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type Context, calendarFor, flag, positive } from './call.ts';
import { type Cursor, fromToken, type PageToken, toToken } from './cursors.ts';
import { ApiError, invalid } from './errors.ts';
import { type EventResource, toResource, toTombstone } from './event-resource.ts';
import type { StoredEvent } from './event-store.ts';
import { EVENT_READ_SCOPES } from './events.ts';
import { responseZone } from './response-zone.ts';
import { changeOfSyncToken, issueSyncToken } from './sync-token.ts';
import { hasOffset, parseDateTime } from './time.ts';
import { type Calendar, etagOf, type Role } from './world.ts';

/** v3 reference, events.list. */
const DEFAULT_PAGE_SIZE = 250;
const MAX_PAGE_SIZE = 2500;

const pageToken = z.object({ cursorId: z.int(), position: z.int(), filled: z.boolean() });

/** GET calendars/{calendarId}/events: a full list, or with a sync token only the later changes. */
export function listEvents(context: Context): ApiAnswer {
  const { calendar, role } = calendarFor(context, 'freeBusyReader', EVENT_READ_SCOPES);
  const { query, world } = context;
  const zone = responseZone(query, calendar);
  const showDeleted = showsDeleted(query);
  const { cursor, page } = locate(context, calendar);
  const { eventIds, next } = cut(context, cursor, page);
  const items: EventResource[] = [];
  for (const id of eventIds) {
    const event = calendar.events.get(id)!;
    if (event.status !== 'cancelled' || showDeleted) {
      items.push(toResource(event, calendar, { role, account: context.caller.account }, zone));
    } else if (query.has('syncToken')) {
      items.push(toTombstone(event));
    }
  }
  const end = next ? { nextPageToken: toToken(next) } : { nextSyncToken: cursor.nextSyncToken };
  return { status: 200, body: { ...envelope(calendar, role, zone, world.now()), ...end, items } };
}

function envelope(calendar: Calendar, role: Role, timeZone: string, now: number): object {
  return {
    kind: 'calendar#events',
    etag: etagOf(calendar.change),
    summary: calendar.summary,
    description: calendar.description ?? '',
    updated: new Date(now).toISOString(),
    timeZone,
    accessRole: role,
    defaultReminders: [],
  };
}

function locate(context: Context, calendar: Calendar): { cursor: Cursor; page: PageToken } {
  const { query, world } = context;
  const parameters = pagesAgree(query);
  const token = query.get('pageToken');
  if (token === null) {
    const nextSyncToken = issueSyncToken(context, calendar);
    const eventIds = matching(context, calendar).map((event) => event.id);
    const cursor = world.cursors.open({ calendarId: calendar.id, parameters, eventIds, nextSyncToken });
    return { cursor, page: { cursorId: cursor.id, position: 0, filled: false } };
  }
  const parsed = pageToken.safeParse(fromToken(token));
  const cursor = parsed.success ? world.cursors.get(parsed.data.cursorId) : undefined;
  if (!parsed.success || cursor?.calendarId !== calendar.id || cursor.parameters !== parameters) {
    throw invalid('Invalid page token value.', 'pageToken');
  }
  return { cursor, page: parsed.data };
}

/** Everything that must be repeated from page to page. */
function pagesAgree(query: URLSearchParams): string {
  const own = ['pageToken', 'maxResults', 'fields', 'quotaUser', 'prettyPrint', 'alt', 'key', 'access_token'];
  const pairs = [...query].filter(([name]) => !own.includes(name));
  return JSON.stringify(pairs.sort());
}

function cut(context: Context, cursor: Cursor, page: PageToken): { eventIds: string[]; next: PageToken | undefined } {
  const { pageShape } = context.world.settings;
  if (pageShape === 'empty' && !page.filled) {
    return { eventIds: [], next: { ...page, filled: true } };
  }
  const asked = Math.min(positive(context.query, 'maxResults') ?? DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
  const size = pageShape === 'short' ? Math.ceil(asked / 2) : asked;
  const end = page.position + size;
  return {
    eventIds: cursor.eventIds.slice(page.position, end),
    next: end < cursor.eventIds.length ? { cursorId: cursor.id, position: end, filled: false } : undefined,
  };
}

/** The events of a new list, in its order. */
function matching(context: Context, calendar: Calendar): StoredEvent[] {
  const { query } = context;
  const token = query.get('syncToken');
  if (token !== null) {
    return calendar.events.changedSince(changeOfSyncToken(context, calendar, token));
  }
  const fits = filterOf(context);
  const found = candidates(query, calendar).filter(fits);
  return inOrder(found, query);
}

/** The smallest set that an index gives; the filter does the rest. */
function candidates(query: URLSearchParams, calendar: Calendar): StoredEvent[] {
  const iCalUID = query.get('iCalUID');
  if (iCalUID !== null) {
    const event = calendar.events.findByICalUID(iCalUID);
    return event ? [event] : [];
  }
  const privateProperty = query.get('privateExtendedProperty');
  if (privateProperty !== null) {
    return calendar.events.withProperty('private', privateProperty);
  }
  const sharedProperty = query.get('sharedExtendedProperty');
  if (sharedProperty !== null) {
    return calendar.events.withProperty('shared', sharedProperty);
  }
  return [...calendar.events.values()];
}

function filterOf(context: Context): (event: StoredEvent) => boolean {
  const { query } = context;
  const timeMin = timestamp(query, 'timeMin') ?? Number.NEGATIVE_INFINITY;
  const timeMax = timestamp(query, 'timeMax') ?? Number.POSITIVE_INFINITY;
  if (timeMax <= timeMin) {
    throw new ApiError(400, 'timeRangeEmpty', 'The specified time range is empty.', { domain: 'calendar' });
  }
  const updatedMin = updatedMinOf(context) ?? Number.NEGATIVE_INFINITY;
  const showDeleted = showsDeleted(query);
  const words = wordsOf(query.get('q') ?? '');
  const privates = constraints(query, 'privateExtendedProperty');
  const shareds = constraints(query, 'sharedExtendedProperty');
  const types = query.getAll('eventTypes');
  const ofType = types.length === 0 || types.includes('default');
  return (event) =>
    ofType &&
    event.endMs > timeMin &&
    event.startMs < timeMax &&
    event.updatedAt >= updatedMin &&
    (showDeleted || event.status !== 'cancelled') &&
    carries(event.content.extendedProperties?.private, privates) &&
    carries(event.content.extendedProperties?.shared, shareds) &&
    (words.length === 0 || mentions(event, words));
}

/** Deleted events come when asked for, and always with updatedMin. */
function showsDeleted(query: URLSearchParams): boolean {
  return (flag(query, 'showDeleted') ?? false) || query.has('updatedMin');
}

function timestamp(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) {
    return undefined;
  }
  const instant = hasOffset(value) ? parseDateTime(value, 'UTC') : undefined;
  if (instant === undefined) {
    throw invalid('Bad Request', name);
  }
  return instant;
}

function updatedMinOf(context: Context): number | undefined {
  const updatedMin = timestamp(context.query, 'updatedMin');
  const { world } = context;
  if (updatedMin !== undefined && updatedMin < world.now() - world.settings.updatedMinHorizonMs) {
    const message = 'The requested minimum modification time lies too far in the past.';
    throw new ApiError(410, 'updatedMinTooLongAgo', message, {
      domain: 'calendar',
      location: 'updatedMin',
      locationType: 'parameter',
    });
  }
  return updatedMin;
}

function constraints(query: URLSearchParams, name: string): [key: string, value: string][] {
  return query.getAll(name).map((constraint) => {
    const split = constraint.indexOf('=');
    if (split < 1) {
      throw invalid(`Invalid value for: ${name}`, name);
    }
    return [constraint.slice(0, split), constraint.slice(split + 1)];
  });
}

function carries(properties: Record<string, string> | undefined, wanted: [key: string, value: string][]): boolean {
  return wanted.every(([key, value]) => properties?.[key] === value);
}

/** True when every word occurs as a whole word, as the vendor's search has it. */
function mentions(event: StoredEvent, words: string[]): boolean {
  const { summary, description, location, attendees } = event.content;
  const people = (attendees ?? []).flatMap((guest) => [guest.email, guest.displayName]);
  const texts = [summary, description, location, event.organizer.email, event.organizer.displayName, ...people];
  const present = new Set(wordsOf(texts.join(' ')));
  return words.every((word) => present.has(word));
}

function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

function inOrder(events: StoredEvent[], query: URLSearchParams): StoredEvent[] {
  const orderBy = query.get('orderBy');
  switch (orderBy) {
    case null:
      return events;
    case 'updated':
      return events.sort((one, other) => one.updatedAt - other.updatedAt || one.change - other.change);
    case 'startTime':
      if (flag(query, 'singleEvents') !== true) {
        throw invalid('The requested ordering is not available for the particular query.', 'orderBy');
      }
      return events.sort((one, other) => one.startMs - other.startMs || one.change - other.change);
    default:
      throw invalid('Invalid value for: orderBy', 'orderBy');
  }
}
