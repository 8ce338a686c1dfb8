import { calendar, type calendar_v3 } from 'googleapis/build/src/apis/calendar/index.js';
import type { HttpClient } from '../../http/client.ts';
import { retryAfterMs } from '../../http/retry-after.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { Clock, TimeWindow } from '../../model/time.ts';
import type { SubscriptionRequest } from '../connector.ts';
import { bodyOf, type WireResponse } from '../wire.ts';
import {
  CALENDARS_PAGE_SIZE,
  EVENT_FIELDS,
  EVENTS_PAGE_SIZE,
  HEAD_FIELDS,
  LARGEST_ANSWER_BYTES,
  MARK_PROPERTY,
} from './limits.ts';

/** The calls that go one by one; each gives the answer whatever its status. Throws MirrorError when no answer came. */
export interface CalendarClient {
  getCalendar(id: string, call: CallOptions): Promise<WireResponse>;
  insertCalendar(content: { summary: string; description: string }, call: CallOptions): Promise<WireResponse>;
  listCalendars(pageToken: string | null, call: CallOptions): Promise<WireResponse>;
  listEvents(query: EventsQuery, call: CallOptions): Promise<WireResponse>;
  listChanges(query: ChangesQuery, call: CallOptions): Promise<WireResponse>;
  watchEvents(query: WatchQuery, call: CallOptions): Promise<WireResponse>;
  stopChannel(channel: { id: string; resourceId: string }, call: CallOptions): Promise<WireResponse>;
}

/** What every call needs. */
export interface CallOptions {
  authorization: string;
  signal: AbortSignal;
}

/** A page of the events that carry a owner tag. */
export interface EventsQuery {
  calendarId: string;
  ownerTag: string;
  window: TimeWindow | null;
  pageToken: string | null;
}

/** A page of the change feed; without a sync token only pages to the token that begins it, and no events. */
export interface ChangesQuery {
  calendarId: string;
  syncToken: string | null;
  pageToken: string | null;
}

/** A channel that is asked for. */
export interface WatchQuery extends SubscriptionRequest {
  calendarId: string;
}

/** Google's own client behind our HTTP client. Its retries, its login and its errors are switched off: ours take their place. */
export function createCalendarClient(
  http: HttpClient,
  clock: Clock,
  rootUrl: string,
  quotaUser: string | null,
): CalendarClient {
  const api = calendar({ version: 'v3', rootUrl: `${rootUrl}/`, params: quotaUser === null ? {} : { quotaUser } });
  const call = (label: string, { authorization, signal }: CallOptions, send: Send) =>
    answerOf(label, clock, () =>
      send(api, {
        headers: { authorization },
        signal,
        retry: false,
        responseType: 'text',
        validateStatus: () => true,
        fetchImplementation: http.asFetch(label, undefined, LARGEST_ANSWER_BYTES),
      }),
    );
  return {
    getCalendar: (calendarId, options) =>
      call('google.calendars.get', options, (client, wire) => client.calendars.get({ calendarId }, wire)),
    insertCalendar: (requestBody, options) =>
      call('google.calendars.insert', options, (client, wire) => client.calendars.insert({ requestBody }, wire)),
    listCalendars: (pageToken, options) =>
      call('google.calendarList.list', options, (client, wire) =>
        client.calendarList.list({ maxResults: CALENDARS_PAGE_SIZE, showHidden: true, ...page(pageToken) }, wire),
      ),
    listEvents: (query, options) =>
      call('google.events.list', options, (client, wire) => client.events.list(eventsParameters(query), wire)),
    listChanges: (query, options) =>
      call('google.events.changes', options, (client, wire) => client.events.list(changesParameters(query), wire)),
    watchEvents: (query, options) =>
      call('google.events.watch', options, (client, wire) => client.events.watch(watchParameters(query), wire)),
    stopChannel: (requestBody, options) =>
      call('google.channels.stop', options, (client, wire) => client.channels.stop({ requestBody }, wire)),
  };
}

/** Options of the client's transport for one request. */
interface Wire {
  headers: { authorization: string };
  signal: AbortSignal;
  retry: false;
  responseType: 'text';
  validateStatus: () => true;
  fetchImplementation: typeof fetch;
}
type Send = (api: calendar_v3.Calendar, wire: Wire) => Promise<{ status: number; headers: object; data: unknown }>;

function page(pageToken: string | null): { pageToken?: string } {
  return pageToken === null ? {} : { pageToken };
}

function eventsParameters({ calendarId, ownerTag, window, pageToken }: EventsQuery) {
  return {
    calendarId,
    privateExtendedProperty: [`${MARK_PROPERTY}=${ownerTag}`],
    maxResults: EVENTS_PAGE_SIZE,
    fields: `nextPageToken,items(${EVENT_FIELDS})`,
    ...(window === null ? {} : { timeMin: rfc3339(window.fromAt), timeMax: rfc3339(window.toAt) }),
    ...page(pageToken),
  };
}

/** All pages of one feed must be asked for with the same parameters (guides/sync), so there are none but the tokens. */
function changesParameters({ calendarId, syncToken, pageToken }: ChangesQuery) {
  return {
    calendarId,
    maxResults: EVENTS_PAGE_SIZE,
    fields: `nextPageToken,nextSyncToken${syncToken === null ? '' : `,items(${HEAD_FIELDS})`}`,
    ...(syncToken === null ? {} : { syncToken }),
    ...page(pageToken),
  };
}

function watchParameters({ calendarId, id, secret, address, expiresAt }: WatchQuery) {
  const requestBody = { id, type: 'web_hook', address, token: secret, expiration: String(Math.floor(expiresAt)) };
  return { calendarId, requestBody };
}

function rfc3339(at: number): string {
  return new Date(at).toISOString();
}

async function answerOf(label: string, clock: Clock, send: () => ReturnType<Send>): Promise<WireResponse> {
  const answer = await send().catch((error: unknown) => {
    throw clientError(error);
  });
  const { status, data } = answer;
  const headers = new Headers(Object.entries(answer.headers).map(([name, value]) => [name, String(value)]));
  const text = typeof data === 'string' ? data : '';
  return {
    status,
    body: bodyOf({ status, headers, body: Buffer.from(text) }, label),
    retryAfterMs: retryAfterMs({ status, headers }, clock()),
  };
}

/** The client wraps what the HTTP client throws, together with the request and its headers, which must not get any further. */
function clientError(error: unknown): MirrorError {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof MirrorError) return current;
  }
  return asMirrorError(new Error('the Google client failed'));
}
