import type { IncomingHttpHeaders } from 'node:http';
import { type ApiAnswer, isMatched, parseJsonObject } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import {
  ApiError,
  conditionNotMet,
  insufficientPermissions,
  invalid,
  notFound,
  requiredAccessLevel,
} from './errors.ts';
import { type Calendar, type Role, rank, type World } from './world.ts';

/** One API call, from its own HTTP request or from a part of a batch. */
export interface ApiCall {
  method: string;
  /** With the query, as sent. */
  url: string;
  /** Names in lower case. */
  headers: IncomingHttpHeaders;
  /** The raw body; empty when there is none. */
  body: string;
}

/** On whose behalf a call runs. */
export interface Caller {
  account: string;
  clientId: string;
  project: string;
  /** Short names, e.g. `calendar.events`. */
  scopes: ReadonlySet<string>;
  /** The service account that made the token, for itself or for `account`. */
  serviceAccount: string | undefined;
}

/** What a handler works with. `parameters` are the decoded parts of the path. */
export interface Context {
  world: World;
  faults: FaultPlan;
  call: ApiCall;
  caller: Caller;
  parameters: Record<string, string>;
  query: URLSearchParams;
}

/** Answers one method of the API. Throws ApiError for what the vendor refuses. */
export type Handler = (context: Context) => ApiAnswer;

/** The JSON body. Throws ApiError 400 parseError when it isn't JSON or not an object. */
export function jsonBody(context: Context): Record<string, unknown> {
  const body = parseJsonObject(context.call.body);
  if (!body) {
    throw new ApiError(400, 'parseError', 'Parse Error');
  }
  return body;
}

/** Returns a text field of a body; null is treated as absent. Throws ApiError 400 for any other type. */
export function textField(body: Record<string, unknown>, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null) {
    return undefined;
  }
  if (typeof value !== 'string') {
    throw invalid(`Invalid value for: ${name}`);
  }
  return value;
}

/** A yes-or-no parameter. Throws ApiError 400 for anything but `true` and `false`. */
export function flag(query: URLSearchParams, name: string): boolean | undefined {
  const value = query.get(name);
  if (value === null) {
    return undefined;
  }
  if (value !== 'true' && value !== 'false') {
    throw invalid(`Invalid boolean value: '${name}'.`, name);
  }
  return value === 'true';
}

/** A whole number of at least 1. Throws ApiError 400. */
export function positive(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) {
    return undefined;
  }
  if (!/^\d{1,9}$/.test(value) || Number(value) < 1) {
    throw invalid(`Invalid value for: ${name}`, name);
  }
  return Number(value);
}

/** Scopes that reach only some calendars. */
function scopeReaches(caller: Caller, calendar: Calendar, role: Role, wide: readonly string[]): boolean {
  if (wide.some((scope) => caller.scopes.has(scope))) {
    return true;
  }
  if (
    role === 'owner' &&
    (caller.scopes.has('calendar.events.owned') || caller.scopes.has('calendar.events.owned.readonly'))
  ) {
    return true;
  }
  return caller.scopes.has('calendar.app.created') && calendar.createdByProject === caller.project;
}

/**
 * The calendar of the path, `primary` resolved, when the caller has at least this role there. No access at all is 404, as if
 * it didn't exist; too low a role, or a scope that doesn't reach it, is 403. Throws ApiError.
 */
export function calendarFor(
  context: Context,
  least: 'freeBusyReader' | 'reader' | 'writer' | 'owner',
  wideScopes: readonly string[],
): { calendar: Calendar; role: Role } {
  const { world, caller, parameters } = context;
  const id = parameters.calendarId ?? '';
  const calendar = world.calendars.get(id === 'primary' ? caller.account : id);
  const role = calendar ? world.roleOf(calendar, caller.account) : 'none';
  if (!calendar || role === 'none') {
    throw notFound();
  }
  if (!scopeReaches(caller, calendar, role, wideScopes)) {
    throw insufficientPermissions();
  }
  const sufficient = least === 'writer' ? rank(role) >= rank('writerWithoutPrivateAccess') : rank(role) >= rank(least);
  if (!sufficient) {
    throw requiredAccessLevel(least === 'freeBusyReader' ? 'reader' : least);
  }
  return { calendar, role };
}

/** Throws ApiError 412 unless If-Match is absent, `*` or this etag. */
export function checkIfMatch(call: ApiCall, etag: string): void {
  if (!isMatched(call.headers['if-match'], etag)) {
    throw conditionNotMet();
  }
}

/** The answer to a GET: 304 without a body when If-None-Match names the current etag. */
export function unlessUnchanged(call: ApiCall, etag: string, body: unknown): ApiAnswer {
  return call.headers['if-none-match'] === etag
    ? { status: 304, headers: { etag } }
    : { status: 200, headers: { etag }, body };
}
