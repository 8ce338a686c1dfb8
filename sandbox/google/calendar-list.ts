import type { ApiAnswer } from '../kit/answer.ts';
import { type Context, flag, jsonBody, positive, textField, unlessUnchanged } from './call.ts';
import { fromToken, toToken } from './cursors.ts';
import { insufficientPermissions, invalid, notFound, notInSandbox, required } from './errors.ts';
import { type Calendar, etagOf, isRole, type Role, rank } from './world.ts';

/** Scopes that may change the calendar list (v3 reference). */
export const LIST_WRITE_SCOPES = ['calendar', 'calendar.calendarlist'];
/** Scopes that may read the calendar list (v3 reference). */
export const LIST_READ_SCOPES = [...LIST_WRITE_SCOPES, 'calendar.calendarlist.readonly', 'calendar.readonly'];

/** v3 reference, calendarList.list. */
const DEFAULT_PAGE_SIZE = 100;
const MAX_PAGE_SIZE = 250;

/** GET calendarList: the account's calendars with its role in each, in pages. Throws ApiError. */
export function listCalendars(context: Context): ApiAnswer {
  const { query, world, caller } = context;
  if (query.has('syncToken')) {
    throw notInSandbox('sync tokens for calendarList');
  }
  flag(query, 'showDeleted');
  flag(query, 'showHidden');
  const least = query.get('minAccessRole') ?? 'freeBusyReader';
  if (!isRole(least) || least === 'none') {
    throw invalid('Invalid value for: minAccessRole', 'minAccessRole');
  }
  const entries = [...world.account(caller.account).calendarList]
    .map((id) => world.calendars.get(id)!)
    .map((calendar) => ({ calendar, role: world.roleOf(calendar, caller.account) }))
    .filter(({ role }) => rank(role) >= rank(least));
  const begin = pageBegin(query);
  const end = begin + Math.min(positive(query, 'maxResults') ?? DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE);
  const items = entries.slice(begin, end).map(({ calendar, role }) => toEntry(calendar, role));
  const next = end < entries.length ? { nextPageToken: toToken({ begin: end }) } : {};
  return { status: 200, body: { kind: 'calendar#calendarList', etag: etagOf(world.lastChange), ...next, items } };
}

/** GET calendarList/{id}: one of the account's calendars. Throws ApiError 404 when it isn't in the list. */
export function getCalendarEntry(context: Context): ApiAnswer {
  const { calendar, role } = inReach(context, context.parameters.calendarId ?? '', LIST_READ_SCOPES);
  const { calendarList } = context.world.account(context.caller.account);
  if (!calendarList.has(calendar.id)) {
    throw notFound();
  }
  return unlessUnchanged(context.call, etagOf(calendar.change), toEntry(calendar, role));
}

/** POST calendarList: adds a calendar that the account may see. Throws ApiError. */
export function insertCalendarEntry(context: Context): ApiAnswer {
  const id = textField(jsonBody(context), 'id');
  if (id === undefined) {
    throw required('Missing calendar id.');
  }
  const { calendar, role } = inReach(context, id, LIST_WRITE_SCOPES);
  context.world.account(context.caller.account).calendarList.add(calendar.id);
  return { status: 200, body: toEntry(calendar, role) };
}

function inReach(context: Context, id: string, wideScopes: readonly string[]): { calendar: Calendar; role: Role } {
  const { world, caller } = context;
  const calendar = world.calendars.get(id === 'primary' ? caller.account : id);
  const role = calendar ? world.roleOf(calendar, caller.account) : 'none';
  if (!calendar || role === 'none') {
    throw notFound();
  }
  const isWide = wideScopes.some((scope) => caller.scopes.has(scope));
  if (!isWide && calendar.createdByProject !== caller.project) {
    throw insufficientPermissions();
  }
  return { calendar, role };
}

function pageBegin(query: URLSearchParams): number {
  const token = query.get('pageToken');
  if (token === null) {
    return 0;
  }
  const value = fromToken(token);
  if (typeof value !== 'object' || value === null || !('begin' in value) || typeof value.begin !== 'number') {
    throw invalid('Invalid page token value.', 'pageToken');
  }
  return value.begin;
}

function toEntry(calendar: Calendar, role: Role): object {
  return {
    kind: 'calendar#calendarListEntry',
    etag: etagOf(calendar.change),
    id: calendar.id,
    summary: calendar.summary,
    description: calendar.description,
    location: calendar.location,
    timeZone: calendar.timeZone,
    dataOwner: calendar.primary ? undefined : calendar.owner,
    colorId: '14',
    backgroundColor: '#9fe1e7',
    foregroundColor: '#000000',
    selected: true,
    accessRole: role,
    defaultReminders: [],
    primary: calendar.primary || undefined,
    conferenceProperties: { allowedConferenceSolutionTypes: ['hangoutsMeet'] },
  };
}
