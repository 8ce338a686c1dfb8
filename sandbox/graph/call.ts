import type { IncomingHttpHeaders } from 'node:http';
import { isMatched, parseJsonObject } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { invalidRequest, irresolvableConflict, itemNotFound, malformedId } from './errors.ts';
import { isId } from './ids.ts';
import type { Preferences } from './preferences.ts';
import type { Calendar, Mailbox, World } from './world.ts';

/** One API call, from its own HTTP request or from a part of a batch. */
export interface ApiCall {
  method: string;
  /** Path with the query, as sent, the version included. */
  url: string;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
  /** The raw body; empty when there is none. */
  body: string;
  /** Where the client found the server: links that are answered begin with it. */
  origin: string;
}

/** On whose behalf a call runs. */
export interface Caller {
  /** The user's email address; undefined with an app-only token. */
  account: string | undefined;
  clientId: string;
  /** Scopes of a user's token, or roles of an app-only token. */
  permissions: ReadonlySet<string>;
  /** What an app-only token reaches. */
  mailboxes: readonly string[] | 'all';
}

/** What a handler works with. `parameters` are the decoded parts of the path. */
export interface Context {
  world: World;
  faults: FaultPlan;
  call: ApiCall;
  caller: Caller;
  parameters: Record<string, string>;
  query: URLSearchParams;
  preferences: Preferences;
}

/** What the handler of a call at a mailbox works with. */
export interface MailboxContext extends Context {
  mailbox: Mailbox;
}

/** The JSON body. Throws GraphError 400 when it isn't JSON, not an object or not declared as JSON. */
export function jsonBody({ call }: Context): Record<string, unknown> {
  if (!/^application\/json\b/i.test(call.headers['content-type'] ?? '')) {
    throw invalidRequest('A body needs the Content-Type application/json.');
  }
  const body = parseJsonObject(call.body);
  if (!body) {
    throw invalidRequest('Unable to read JSON request payload.');
  }
  return body;
}

/** The calendar of the path, or the default one when the path names none. Throws GraphError 400 or 404. */
export function calendarFor({ mailbox, parameters }: MailboxContext): Calendar {
  const id = parameters.calendarId ?? mailbox.defaultCalendarId;
  if (!isId(id)) {
    throw malformedId();
  }
  const calendar = mailbox.calendars.get(id);
  if (!calendar) {
    throw itemNotFound();
  }
  return calendar;
}

/** Throws GraphError 412 unless If-Match is absent, `*` or this etag. */
export function checkIfMatch(call: ApiCall, etag: string): void {
  if (!isMatched(call.headers['if-match'], etag)) {
    throw irresolvableConflict();
  }
}

/** Refuses query options that would silently do nothing. Throws GraphError 400. */
export function checkQuery(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) {
      throw invalidRequest(`The query option '${name}' is not supported here.`);
    }
  }
}

/** A whole number of at least `least`. Throws GraphError 400. */
export function wholeNumber(query: URLSearchParams, name: string, least: number): number | undefined {
  const value = query.get(name);
  if (value === null) {
    return undefined;
  }
  if (!/^\d{1,9}$/.test(value) || Number(value) < least) {
    throw invalidRequest(`Invalid value of the query option '${name}'.`);
  }
  return Number(value);
}
