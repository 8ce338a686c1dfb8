import { randomBytes } from 'node:crypto';
import type { ApiAnswer } from '../kit/answer.ts';
import { type Caller, type Context, calendarFor, checkIfMatch, flag, jsonBody, unlessUnchanged } from './call.ts';
import { ApiError, duplicate, invalid, notFound, required } from './errors.ts';
import { type EventBody, mergePatch, parseEventBody } from './event-fields.ts';
import { toResource } from './event-resource.ts';
import type { StoredEvent } from './event-store.ts';
import { cancelEvent, draftEvent, newEventId, ownOrganizer, patchable, save } from './event-writes.ts';
import { responseZone } from './response-zone.ts';
import { type Calendar, etagOf, type World } from './world.ts';

/** Scopes that may change events in any calendar that the caller may write to (v3 reference). */
export const EVENT_WRITE_SCOPES = ['calendar', 'calendar.events'];
/** Scopes that may read events in any calendar that the caller may see (v3 reference). */
export const EVENT_READ_SCOPES = [...EVENT_WRITE_SCOPES, 'calendar.readonly', 'calendar.events.readonly'];

/** GET events/{id}, deleted ones included. Throws ApiError. */
export function getEvent(context: Context): ApiAnswer {
  const { calendar, role } = calendarFor(context, 'freeBusyReader', EVENT_READ_SCOPES);
  const event = existing(calendar, context.parameters.eventId);
  const resource = toResource(
    event,
    calendar,
    { role, account: context.caller.account },
    responseZone(context.query, calendar),
  );
  return unlessUnchanged(context.call, etagOf(event.change), resource);
}

/** POST events. Throws ApiError 400, or 409 when the id is or was taken. */
export function insertEvent(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'writer', EVENT_WRITE_SCOPES);
  const mailMode = mailModeOf(context.query);
  const body = readBody(context, jsonBody(context));
  if (body.id !== undefined && body.iCalUID !== undefined) {
    throw invalid('Only one of id and iCalUID may be given when an event is created.');
  }
  const taken =
    (body.id !== undefined && calendar.events.isTaken(body.id)) ||
    (body.iCalUID !== undefined && calendar.events.findByICalUID(body.iCalUID) !== undefined);
  const draft = draftEvent(context.world, calendar, body, undefined);
  if (taken) {
    throw duplicate();
  }
  const id = body.id ?? newEventId();
  const event = save(context.world, calendar, {
    ...draft,
    id,
    iCalUID: body.iCalUID ?? `${id}@google.com`,
    creator: context.caller.account,
    organizer: ownOrganizer(calendar),
  });
  countMails(context.world, mailMode, calendar, event);
  return answer(context, event, calendar);
}

/** POST events/import: adds or updates a private copy by iCalUID; never mails. Throws ApiError. */
export function importEvent(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'writer', EVENT_WRITE_SCOPES);
  const body = readBody(context, jsonBody(context));
  if (body.iCalUID === undefined) {
    throw required('Missing iCalUID.');
  }
  if (body.id !== undefined) {
    throw invalid('Only one of id and iCalUID may be given when an event is created.');
  }
  const known = calendar.events.findByICalUID(body.iCalUID);
  const id = known?.id ?? `_${randomBytes(20).toString('hex')}`;
  const event = save(context.world, calendar, {
    ...draftEvent(context.world, calendar, body, known),
    id,
    iCalUID: body.iCalUID,
    creator: known?.creator ?? context.caller.account,
    organizer: body.organizer ?? ownOrganizer(calendar),
    privateCopy: body.organizer !== undefined && body.organizer.email !== calendar.id,
  });
  return answer(context, event, calendar);
}

/** PUT events/{id}: replaces the whole event. Throws ApiError. */
export function updateEvent(context: Context): ApiAnswer {
  const isZero = context.world.settings.absentSequence === 'zero';
  return change(context, () => (isZero ? { sequence: 0, ...jsonBody(context) } : jsonBody(context)));
}

/** PATCH events/{id}: merges. Throws ApiError. */
export function patchEvent(context: Context): ApiAnswer {
  return change(context, (event) => mergePatch(patchable(event), jsonBody(context)));
}

/** DELETE events/{id}: leaves a cancelled event. Throws ApiError 410 when it is one already. */
export function deleteEvent(context: Context): ApiAnswer {
  const { calendar } = calendarFor(context, 'writer', EVENT_WRITE_SCOPES);
  const event = existing(calendar, context.parameters.eventId);
  if (event.status === 'cancelled') {
    throw new ApiError(410, 'deleted', 'Resource has been deleted');
  }
  checkIfMatch(context.call, etagOf(event.change));
  countMails(context.world, mailModeOf(context.query), calendar, event);
  cancelEvent(context.world, calendar, event);
  return { status: 204 };
}

function change(context: Context, bodyFor: (event: StoredEvent) => unknown): ApiAnswer {
  const { calendar } = calendarFor(context, 'writer', EVENT_WRITE_SCOPES);
  const event = existing(calendar, context.parameters.eventId);
  const mailMode = mailModeOf(context.query);
  const body = readBody(context, bodyFor(event), jsonBody(context));
  checkIfMatch(context.call, etagOf(event.change));
  if ((body.id ?? event.id) !== event.id) {
    throw invalid('Invalid resource id value.');
  }
  if ((body.iCalUID ?? event.iCalUID) !== event.iCalUID) {
    throw invalid('Invalid value for: iCalUID');
  }
  const draft = draftEvent(context.world, calendar, body, event);
  const revives = event.status === 'cancelled' && draft.status !== 'cancelled';
  if (revives && context.faults.active('revival-forbidden', faultable(context))) {
    throw new ApiError(403, 'forbidden', 'Forbidden');
  }
  const changed = save(context.world, calendar, { ...event, ...draft });
  countMails(context.world, mailMode, calendar, changed);
  return answer(context, changed, calendar);
}

function existing(calendar: Calendar, id: string | undefined): StoredEvent {
  const event = calendar.events.get(id ?? '');
  if (!event) {
    throw notFound();
  }
  return event;
}

/** @param sent the client's part of the body: existing guests are not new invitations */
function readBody(context: Context, json: unknown, sent = json): EventBody {
  const body = parseEventBody(json, (count) => context.world.counts.add('droppedProperties', count));
  const names = typeof sent === 'object' && sent !== null && 'attendees' in sent;
  if (names && (body.attendees?.length ?? 0) > 0 && actsAsServiceAccount(context.caller)) {
    const message = 'Service accounts cannot invite attendees without Domain-Wide Delegation of Authority.';
    throw new ApiError(403, 'forbiddenForServiceAccounts', message, { domain: 'calendar' });
  }
  return body;
}

function actsAsServiceAccount(caller: Caller): boolean {
  return caller.serviceAccount === caller.account;
}

function answer({ caller }: Context, event: StoredEvent, calendar: Calendar): ApiAnswer {
  const resource = toResource(event, calendar, { role: 'owner', account: caller.account }, calendar.timeZone);
  return { status: 200, headers: { etag: etagOf(event.change) }, body: resource };
}

type MailMode = 'all' | 'externalOnly' | 'none';

function isMailMode(mode: string): mode is MailMode {
  return mode === 'all' || mode === 'externalOnly' || mode === 'none';
}

/** Returns the group of guests that the vendor mails; by default none. Throws ApiError 400. */
function mailModeOf(query: URLSearchParams): MailMode {
  const mode = query.get('sendUpdates') ?? (flag(query, 'sendNotifications') ? 'all' : 'none');
  if (!isMailMode(mode)) {
    throw invalid('Invalid value for: sendUpdates', 'sendUpdates');
  }
  return mode;
}

/** Counts the mails that the vendor would send to guests; external are those without an account here. */
function countMails(world: World, mode: MailMode, calendar: Calendar, event: StoredEvent): void {
  const guests = (event.content.attendees ?? []).filter((guest) => guest.email !== calendar.owner);
  const external = guests.filter((guest) => !world.accounts.has(guest.email));
  const mailed = { all: guests, externalOnly: external, none: [] }[mode];
  world.counts.add('mails', mailed.length);
}

function faultable(context: Context): { method: string; path: string; client: string } {
  return { method: context.call.method, path: context.call.url, client: context.caller.account };
}
