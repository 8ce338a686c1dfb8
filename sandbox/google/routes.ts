import { ACL_READ_SCOPES, ACL_WRITE_SCOPES, insertRule, listRules } from './acl.ts';
import {
  getCalendarEntry,
  insertCalendarEntry,
  LIST_READ_SCOPES,
  LIST_WRITE_SCOPES,
  listCalendars,
} from './calendar-list.ts';
import {
  CALENDAR_READ_SCOPES,
  CALENDAR_WRITE_SCOPES,
  deleteCalendar,
  getCalendar,
  insertCalendar,
  patchCalendar,
  updateCalendar,
} from './calendars.ts';
import type { Handler } from './call.ts';
import type { Channels } from './channels.ts';
import { listEvents } from './event-list.ts';
import {
  deleteEvent,
  EVENT_READ_SCOPES,
  EVENT_WRITE_SCOPES,
  getEvent,
  importEvent,
  insertEvent,
  patchEvent,
  updateEvent,
} from './events.ts';

/** One method of the API. `path` is relative to /calendar/v3. */
export interface Route {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** One of these is needed, short names (from the scopes listed per method in the v3 reference). */
  scopes: readonly string[];
  /** Quota units of one call: a patch costs three. */
  units: number;
  /** Writes to the events of a calendar count against its write rate. */
  writesEvents: boolean;
  /** Query parameters in addition to the common ones. */
  query: readonly string[];
  handler: Handler;
}

const APP = 'calendar.app.created';
const OWNED = 'calendar.events.owned';

const WRITE_EVENTS = [...EVENT_WRITE_SCOPES, APP, OWNED];
const READ_EVENTS = [...EVENT_READ_SCOPES, APP, OWNED, `${OWNED}.readonly`];
const WRITE_CALENDARS = [...CALENDAR_WRITE_SCOPES, APP];

const SEND = ['sendUpdates', 'sendNotifications'];
const WRITE_QUERY = [...SEND, 'conferenceDataVersion', 'eventLabelVersion', 'maxAttendees', 'supportsAttachments'];
const READ_QUERY = ['alwaysIncludeEmail', 'maxAttendees', 'timeZone'];
const LIST_QUERY = [
  ...READ_QUERY,
  ...['eventTypes', 'iCalUID', 'maxResults', 'orderBy', 'pageToken', 'privateExtendedProperty', 'q'],
  ...['sharedExtendedProperty', 'showDeleted', 'showHiddenInvitations', 'singleEvents', 'syncToken'],
  ...['timeMax', 'timeMin', 'updatedMin'],
];

const EVENTS = '/calendars/:calendarId/events';
const EVENT = `${EVENTS}/:eventId`;
const CALENDAR = '/calendars/:calendarId';
const LIST = '/users/me/calendarList';

/** Every method that the sandbox answers. */
export function routes(channels: Channels): Route[] {
  return [
    route('GET', EVENTS, READ_EVENTS, listEvents, { query: LIST_QUERY }),
    route('POST', EVENTS, WRITE_EVENTS, insertEvent, { query: WRITE_QUERY, writesEvents: true }),
    route('POST', `${EVENTS}/import`, WRITE_EVENTS, importEvent, { query: WRITE_QUERY.slice(2), writesEvents: true }),
    route('POST', `${EVENTS}/watch`, READ_EVENTS, (context) => channels.watch(context), { query: LIST_QUERY }),
    route('GET', EVENT, READ_EVENTS, getEvent, { query: READ_QUERY }),
    route('PUT', EVENT, WRITE_EVENTS, updateEvent, {
      query: [...WRITE_QUERY, 'alwaysIncludeEmail'],
      writesEvents: true,
    }),
    route('PATCH', EVENT, WRITE_EVENTS, patchEvent, {
      query: [...WRITE_QUERY, 'alwaysIncludeEmail'],
      writesEvents: true,
      units: 3,
    }),
    route('DELETE', EVENT, WRITE_EVENTS, deleteEvent, { query: SEND, writesEvents: true }),
    route('POST', '/channels/stop', READ_EVENTS, (context) => channels.stop(context)),
    route('POST', '/calendars', WRITE_CALENDARS, insertCalendar),
    route('GET', CALENDAR, [...CALENDAR_READ_SCOPES, APP], getCalendar),
    route('PUT', CALENDAR, WRITE_CALENDARS, updateCalendar),
    route('PATCH', CALENDAR, WRITE_CALENDARS, patchCalendar, { units: 3 }),
    route('DELETE', CALENDAR, WRITE_CALENDARS, deleteCalendar),
    route('GET', LIST, LIST_READ_SCOPES, listCalendars, {
      query: ['maxResults', 'minAccessRole', 'pageToken', 'showDeleted', 'showHidden', 'syncToken'],
    }),
    route('POST', LIST, LIST_WRITE_SCOPES, insertCalendarEntry, { query: ['colorRgbFormat'] }),
    route('GET', `${LIST}/:calendarId`, [...LIST_READ_SCOPES, APP], getCalendarEntry),
    route('GET', `${CALENDAR}/acl`, ACL_READ_SCOPES, listRules, {
      query: ['maxResults', 'pageToken', 'showDeleted', 'syncToken'],
    }),
    route('POST', `${CALENDAR}/acl`, ACL_WRITE_SCOPES, insertRule, { query: ['sendNotifications'] }),
  ];
}

function route(
  method: Route['method'],
  path: string,
  scopes: readonly string[],
  handler: Handler,
  rest: Partial<Pick<Route, 'units' | 'writesEvents' | 'query'>> = {},
): Route {
  return { method, path, scopes, handler, units: 1, writesEvents: false, query: [], ...rest };
}
