import type { ApiAnswer } from '../kit/answer.ts';
import { type Context, calendarFor, checkIfMatch, jsonBody, textField, unlessUnchanged } from './call.ts';
import { ApiError, invalid, quotaExceeded, required } from './errors.ts';
import { isZone } from './time.ts';
import { type Calendar, etagOf } from './world.ts';

/** Scopes that may change calendars (v3 reference). */
export const CALENDAR_WRITE_SCOPES = ['calendar', 'calendar.calendars'];
/** Scopes that may read calendars (v3 reference). */
export const CALENDAR_READ_SCOPES = [...CALENDAR_WRITE_SCOPES, 'calendar.calendars.readonly', 'calendar.readonly'];

const DAY_MS = 86_400_000;
const WRITABLE = ['summary', 'description', 'location', 'timeZone'];
const SERVER_MADE = [
  'kind',
  'etag',
  'id',
  'conferenceProperties',
  'dataOwner',
  'labelProperties',
  'autoAcceptInvitations',
];

/** GET calendars/{id}. Throws ApiError. */
export function getCalendar(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'freeBusyReader', CALENDAR_READ_SCOPES);
  return unlessUnchanged(context.call, etagOf(calendar.change), toCalendarResource(calendar));
}

/** POST calendars: a new secondary calendar of the caller. Throws ApiError 400, or 403 above the use limit. */
export function insertCalendar(context: Context): ApiAnswer {
  const { world, caller } = context;
  const body = readBody(context);
  if (body.summary === undefined) {
    throw required('Missing title.');
  }
  countNewCalendar(context);
  const calendar = world.createCalendar(caller.account, {
    summary: body.summary,
    description: body.description,
    location: body.location,
    createdByProject: caller.project,
    ...(body.timeZone === undefined ? {} : { timeZone: body.timeZone }),
  });
  return { status: 200, body: toCalendarResource(calendar) };
}

/** PUT calendars/{id}: replaces its texts; the zone stays when absent. Throws ApiError. */
export function updateCalendar(context: Context): ApiAnswer {
  const body = readBody(context);
  if (body.summary === undefined) {
    throw required('Missing title.');
  }
  return change(context, { description: undefined, location: undefined, ...body });
}

/** PATCH calendars/{id}: changes what is given. Throws ApiError. */
export function patchCalendar(context: Context): ApiAnswer {
  return change(context, readBody(context));
}

/** DELETE calendars/{id}: a secondary calendar with all its events. Throws ApiError. */
export function deleteCalendar(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'owner', CALENDAR_WRITE_SCOPES);
  if (calendar.primary) {
    throw new ApiError(400, 'cannotDeletePrimaryCalendar', 'Cannot delete the primary calendar.', {
      domain: 'calendar',
    });
  }
  checkIfMatch(context.call, etagOf(calendar.change));
  context.world.deleteCalendar(calendar.id);
  return { status: 204 };
}

type CalendarBody = Partial<Record<'summary' | 'description' | 'location' | 'timeZone', string | undefined>>;

function readBody(context: Context): CalendarBody {
  const body = jsonBody(context);
  for (const name of Object.keys(body)) {
    if (!WRITABLE.includes(name) && !SERVER_MADE.includes(name)) {
      throw new ApiError(
        400,
        'badRequest',
        `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`,
      );
    }
  }
  const read: CalendarBody = {};
  for (const name of ['summary', 'description', 'location', 'timeZone'] as const) {
    if (name in body) {
      read[name] = textField(body, name);
    }
  }
  if (read.timeZone !== undefined && !isZone(read.timeZone)) {
    throw invalid('Invalid time zone.');
  }
  return read;
}

function change(context: Context, body: CalendarBody): ApiAnswer {
  const { calendar } = calendarFor(context, 'owner', CALENDAR_WRITE_SCOPES);
  checkIfMatch(context.call, etagOf(calendar.change));
  const { summary, timeZone, ...texts } = body;
  Object.assign(calendar, texts);
  calendar.summary = summary ?? calendar.summary;
  calendar.timeZone = timeZone ?? calendar.timeZone;
  calendar.change = context.world.nextChange();
  return { status: 200, headers: { etag: etagOf(calendar.change) }, body: toCalendarResource(calendar) };
}

/** The use limit on new calendars, per account and day. Throws ApiError 403 quotaExceeded. */
function countNewCalendar(context: Context): void {
  const { world, caller } = context;
  const made = (world.madeCalendarsAt.get(caller.account) ?? []).filter((at) => at > world.now() - DAY_MS);
  if (made.length >= world.settings.newCalendarsPerDay) {
    throw quotaExceeded();
  }
  world.madeCalendarsAt.set(caller.account, [...made, world.now()]);
}

function toCalendarResource(calendar: Calendar): object {
  return {
    kind: 'calendar#calendar',
    etag: etagOf(calendar.change),
    id: calendar.id,
    summary: calendar.summary,
    description: calendar.description,
    location: calendar.location,
    timeZone: calendar.timeZone,
    dataOwner: calendar.primary ? undefined : calendar.owner,
    conferenceProperties: { allowedConferenceSolutionTypes: ['hangoutsMeet'] },
  };
}
