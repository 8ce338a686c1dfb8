import { randomBytes } from 'node:crypto';
import { invalid } from './errors.ts';
import { type EventBody, mergePatch, parseEventBody } from './event-fields.ts';
import { eventRange } from './event-range.ts';
import type { EventContent, Person, StoredEvent } from './event-store.ts';
import type { Calendar, World } from './world.ts';

/** Marks an event as deleted; its content stays readable, as at the vendor. */
export function cancelEvent(world: World, calendar: Calendar, event: StoredEvent): void {
  save(world, calendar, { ...event, status: 'cancelled', updatedAt: world.now() });
}

/** Merges changes into an event like a user's manual edit: no access check, no quota. Throws ApiError 400. */
export function editEvent(world: World, calendar: Calendar, event: StoredEvent, changes: object): StoredEvent {
  const body = parseEventBody(mergePatch(patchable(event), changes), () => undefined);
  return save(world, calendar, { ...event, ...draftEvent(world, calendar, body, event) });
}

/** Adds an event like a user does manually. Throws ApiError 400. */
export function addEvent(world: World, calendar: Calendar, fields: object): StoredEvent {
  const body = parseEventBody(fields, () => undefined);
  const id = body.id ?? newEventId();
  return save(world, calendar, {
    ...draftEvent(world, calendar, body, undefined),
    id,
    iCalUID: `${id}@google.com`,
    creator: calendar.owner,
    organizer: ownOrganizer(calendar),
  });
}

/** A new version, without the fields that are set only when the event is created. */
export type Draft = Omit<StoredEvent, 'id' | 'iCalUID' | 'creator' | 'organizer' | 'change'>;

/** What a write makes of a body, `before` being the version that it replaces. Throws ApiError 400. */
export function draftEvent(world: World, calendar: Calendar, body: EventBody, before: StoredEvent | undefined): Draft {
  const content = contentOf(body);
  const range = eventRange(body.start, body.end, calendar.timeZone);
  const moved = before !== undefined && (before.startMs !== range.startMs || before.endMs !== range.endMs);
  const status = body.status ?? (before?.status === 'cancelled' ? 'cancelled' : 'confirmed');
  const onlyReminders =
    before !== undefined && before.status === status && withoutReminders(before.content) === withoutReminders(content);
  return {
    ...range,
    content,
    status,
    sequence: nextSequence(body.sequence, before?.sequence ?? 0, moved),
    privateCopy: before?.privateCopy ?? false,
    createdAt: before?.createdAt ?? world.now(),
    updatedAt: onlyReminders ? before.updatedAt : world.now(),
  };
}

function nextSequence(given: number | undefined, stored: number, moved: boolean): number {
  if (given !== undefined && given < stored) {
    throw invalid(
      'Invalid sequence value. The specified sequence number is below the current sequence number of the resource. ' +
        'Re-fetch the resource and use its sequence number on the following request.',
    );
  }
  return Math.max(given ?? stored, moved ? stored + 1 : 0);
}

function contentOf(body: EventBody): EventContent {
  const { id, iCalUID, sequence, status, organizer, kind, etag, htmlLink, hangoutLink, ...rest } = body;
  const { created, updated, creator, locked, privateCopy, attendeesOmitted, ...content } = rest;
  return content;
}

/** `updated` stays when only reminders change, so they are left out of the comparison. */
function withoutReminders(content: EventContent): string {
  return JSON.stringify({ ...content, reminders: undefined });
}

/** What a patch is merged into: the stored client fields in the shape of a body. */
export function patchable(event: StoredEvent): Record<string, unknown> {
  return { ...event.content, status: event.status };
}

/** Stores a new version of an event and notifies the watches. */
export function save(world: World, calendar: Calendar, event: Omit<StoredEvent, 'change'>): StoredEvent {
  const stored: StoredEvent = { ...event, change: world.nextChange() };
  calendar.events.put(stored);
  for (const tell of world.onEventChange) {
    tell(calendar.id);
  }
  return stored;
}

/** The organizer of an event that was made in this calendar. */
export function ownOrganizer(calendar: Calendar): Person {
  return { email: calendar.id, ...(calendar.primary ? {} : { displayName: calendar.summary }) };
}

/** 26 characters of the id alphabet, like the vendor's own. */
export function newEventId(): string {
  return BigInt(`0x1${randomBytes(16).toString('hex')}`)
    .toString(32)
    .slice(-26)
    .padStart(26, '0');
}
