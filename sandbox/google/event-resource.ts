import type { StoredEvent } from './event-store.ts';
import { formatInZone } from './time.ts';
import { type Calendar, etagOf, type Role } from './world.ts';

/** Who is shown an event. */
export interface Reader {
  role: Role;
  account: string;
}

/** An event as the API answers it. */
export type EventResource = Record<string, unknown> & { id: string; status: string };

/**
 * The event for a reader with this role, times in `zone` (the calendar's unless the request names one). Roles below writer see
 * only the time of private events; free-busy readers see only the time of any.
 */
export function toResource(
  event: StoredEvent,
  calendar: Calendar,
  { role, account }: Reader,
  zone: string,
): EventResource {
  const { content } = event;
  const start = renderTime(content.start, event.startMs, zone, calendar.timeZone);
  const end = renderTime(content.end, event.endMs, zone, calendar.timeZone);
  const head = { kind: 'calendar#event', etag: etagOf(event.change), id: event.id, status: event.status };
  if (hidesDetails(event, role)) {
    const visibility = content.visibility ?? 'private';
    return {
      ...head,
      updated: iso(event.updatedAt),
      start,
      end,
      visibility,
      iCalUID: event.iCalUID,
      eventType: 'default',
    };
  }
  const resource: EventResource = {
    ...head,
    htmlLink: `https://www.google.com/calendar/event?eid=${Buffer.from(`${event.id} ${calendar.id}`).toString('base64url')}`,
    created: iso(event.createdAt),
    updated: iso(event.updatedAt),
    ...content,
    start,
    end,
    creator: { email: event.creator, ...selfFlag(event.creator, calendar) },
    organizer: { ...event.organizer, ...selfFlag(event.organizer.email, calendar) },
    iCalUID: event.iCalUID,
    sequence: event.sequence,
    reminders: content.reminders ?? { useDefault: true },
    eventType: 'default',
  };
  dropDefaults(resource);
  // "Can only be seen or modified by the creator of the event" (v3 reference of events).
  if (account !== event.creator) {
    delete resource.source;
  }
  if (event.privateCopy) {
    resource.privateCopy = true;
  }
  return resource;
}

/** All that a change feed guarantees about a deleted event. */
export function toTombstone(event: StoredEvent): EventResource {
  return { kind: 'calendar#event', etag: etagOf(event.change), id: event.id, status: 'cancelled' };
}

function hidesDetails(event: StoredEvent, role: Role): boolean {
  if (role === 'freeBusyReader') {
    return true;
  }
  const isPrivate = event.content.visibility === 'private' || event.content.visibility === 'confidential';
  return isPrivate && (role === 'reader' || role === 'writerWithoutPrivateAccess');
}

function renderTime(
  time: { date?: string | undefined; timeZone?: string | undefined } | undefined,
  epochMs: number,
  zone: string,
  calendarZone: string,
): Record<string, string> {
  return time?.date === undefined
    ? { dateTime: formatInZone(epochMs, zone), timeZone: time?.timeZone ?? calendarZone }
    : { date: time.date };
}

/** The vendor omits fields that have their default value. */
function dropDefaults(resource: EventResource): void {
  if (resource.transparency === 'opaque') {
    delete resource.transparency;
  }
  if (resource.visibility === 'default') {
    delete resource.visibility;
  }
}

function selfFlag(email: string | undefined, calendar: Calendar): { self?: true } {
  return email === calendar.id ? { self: true } : {};
}

function iso(epochMs: number): string {
  return new Date(epochMs).toISOString();
}
