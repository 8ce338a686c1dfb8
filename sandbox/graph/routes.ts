import type { ApiAnswer } from '../kit/answer.ts';
import { deleteCalendar, getCalendar, listCalendars, patchCalendar, postCalendar } from './calendars.ts';
import type { Context, MailboxContext } from './call.ts';
import type { DeltaFeed } from './delta.ts';
import { listCalendarView, listEvents } from './event-list.ts';
import { deleteEvent, getEvent, patchEvent, permanentlyDeleteEvent, postEvent } from './events.ts';
import type { SubscriptionRoutes } from './subscription-routes.ts';
import { getUser } from './users.ts';

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE';

/** A call at a mailbox: `path` comes after `/me` or `/users/{id}`. */
interface MailboxRoute {
  at: 'mailbox';
  method: Method;
  path: string;
  /** One of these is required: scopes of a user, roles of an application. */
  permissions: readonly string[];
  /** Counts against the mailbox's limits, and needs a licence. */
  limited: boolean;
  handler(context: MailboxContext): ApiAnswer | Promise<ApiAnswer>;
}

/** A call elsewhere: `path` comes after the version. */
interface RootRoute {
  at: 'root';
  method: Method;
  path: string;
  permissions: readonly string[];
  handler(context: Context): ApiAnswer | Promise<ApiAnswer>;
}

/** One method of the API. */
export type Route = MailboxRoute | RootRoute;

const WRITE = ['Calendars.ReadWrite', 'Calendars.ReadWrite.Shared'];
const READ = [...WRITE, 'Calendars.Read', 'Calendars.Read.Shared'];
const USER = ['User.Read', 'User.ReadBasic.All', 'User.Read.All', ...READ];

/** Every method that the sandbox answers. */
export function routes(delta: DeltaFeed, subscriptions: SubscriptionRoutes): Route[] {
  const calendars = [
    read('/calendar', getCalendar),
    write('PATCH', '/calendar', patchCalendar),
    read('/calendars', listCalendars),
    write('POST', '/calendars', postCalendar),
    read('/calendars/:calendarId', getCalendar),
    write('PATCH', '/calendars/:calendarId', patchCalendar),
    write('DELETE', '/calendars/:calendarId', deleteCalendar),
  ];
  const events = ['', '/calendar', '/calendars/:calendarId'].flatMap((parent) => [
    read(`${parent}/events`, listEvents),
    write('POST', `${parent}/events`, postEvent),
    read(`${parent}/events/:eventId`, getEvent),
    write('PATCH', `${parent}/events/:eventId`, patchEvent),
    write('DELETE', `${parent}/events/:eventId`, deleteEvent),
    write('POST', `${parent}/events/:eventId/permanentDelete`, permanentlyDeleteEvent),
    read(`${parent}/calendarView`, listCalendarView),
    read(`${parent}/calendarView/delta`, (context) => delta.answer(context)),
  ]);
  const user: Route = { at: 'mailbox', method: 'GET', path: '', permissions: USER, limited: false, handler: getUser };
  return [user, ...calendars, ...events, ...subscriptionTable(subscriptions)];
}

function subscriptionTable(subscriptions: SubscriptionRoutes): Route[] {
  const one = '/subscriptions/:subscriptionId';
  return [
    root('POST', '/subscriptions', (context) => subscriptions.create(context)),
    root('GET', '/subscriptions', (context) => subscriptions.list(context)),
    root('GET', one, (context) => subscriptions.get(context)),
    root('PATCH', one, (context) => subscriptions.renew(context)),
    root('DELETE', one, (context) => subscriptions.remove(context)),
    root('POST', `${one}/reauthorize`, (context) => subscriptions.reauthorize(context)),
  ];
}

function read(path: string, handler: MailboxRoute['handler']): Route {
  return { at: 'mailbox', method: 'GET', path, permissions: READ, limited: true, handler };
}

function write(method: Method, path: string, handler: MailboxRoute['handler']): Route {
  return { at: 'mailbox', method, path, permissions: WRITE, limited: true, handler };
}

function root(method: Method, path: string, handler: RootRoute['handler']): Route {
  return { at: 'root', method, path, permissions: READ, handler };
}
