import { invalidProperty } from './errors.ts';
import { type EventBody, type EventTime, requestText } from './event-fields.ts';
import type { EventContent, StoredEvent } from './event-store.ts';
import { newICalUId, newImmutableId, newRestId } from './ids.ts';
import { parseWallTime, toIana, unknownZone } from './time.ts';
import type { Calendar, Mailbox, World } from './world.ts';

const DAY_MS = 86_400_000;

/** Adds an event to a calendar. Throws GraphError 400. */
export function createEvent(world: World, mailbox: Mailbox, calendarId: string, body: EventBody): StoredEvent {
  const content = newContent(body, world.settings.defaultReminderMinutes);
  const now = world.now();
  const event: StoredEvent = {
    immutableId: newImmutableId(),
    restId: newRestId(),
    calendarId,
    iCalUId: newICalUId(),
    transactionId: body.transactionId,
    createdAs: requestText(body),
    content,
    properties: body.properties,
    createdAt: now,
    updatedAt: now,
    ...eventRange(content, world.settings.refusedZones),
    isDeleted: false,
    change: world.nextChange(),
  };
  mailbox.events.put(event);
  countMails(world, mailbox, content);
  world.tell({ mailbox, event, changeType: 'created' });
  return event;
}

/** Changes what is given; `dropped` are extended properties that go away. Throws GraphError 400. */
export function changeEvent(
  world: World,
  mailbox: Mailbox,
  before: StoredEvent,
  body: EventBody,
  dropped: readonly string[] = [],
): StoredEvent {
  const { transactionId, properties: given, ...changes } = body;
  const content: EventContent = { ...before.content, ...changes };
  // An online meeting can't be undone.
  content.isOnlineMeeting ||= before.content.isOnlineMeeting;
  const properties = new Map([...before.properties, ...given]);
  for (const id of dropped) {
    properties.delete(id);
  }
  const event = {
    ...before,
    content,
    properties,
    ...eventRange(content, world.settings.refusedZones),
    updatedAt: world.now(),
    change: world.nextChange(),
  };
  mailbox.events.put(event);
  countMails(world, mailbox, before.content, content);
  world.tell({ mailbox, event, changeType: 'updated' });
  return event;
}

/** Moves an event into Deleted Items. Guests of the mailbox's own meeting would get a cancellation. */
export function softDeleteEvent(world: World, mailbox: Mailbox, before: StoredEvent): void {
  const event = { ...before, isDeleted: true, change: world.nextChange() };
  mailbox.events.put(event);
  countMails(world, mailbox, before.content);
  world.tell({ mailbox, event: before, changeType: 'deleted' });
}

/** Removes an event permanently. */
export function purgeEvent(world: World, mailbox: Mailbox, event: StoredEvent): void {
  mailbox.events.purge(event, world.nextChange());
  countMails(world, mailbox, event.content);
  world.tell({ mailbox, event, changeType: 'deleted' });
}

/** Moves an event to another calendar: it gets a new id in the default format and keeps the immutable one. */
export function moveEvent(world: World, mailbox: Mailbox, before: StoredEvent, to: Calendar): StoredEvent {
  const change = world.nextChange();
  const event = { ...before, calendarId: to.id, restId: newRestId(), updatedAt: world.now(), change };
  mailbox.events.put(event);
  world.tell({ mailbox, event, changeType: 'updated' });
  return event;
}

/** Stores an event under new ids, without notifications. */
export function renewEventId(world: World, mailbox: Mailbox, before: StoredEvent, calendarId: string): void {
  mailbox.events.purge(before, world.nextChange());
  const ids = { immutableId: newImmutableId(), restId: newRestId() };
  mailbox.events.put({ ...before, ...ids, calendarId, change: world.nextChange() });
}

function newContent(body: EventBody, defaultReminderMinutes: number): EventContent {
  const { transactionId, properties, start, end, ...given } = body;
  if (!start || !end) {
    throw invalidProperty(`Property: ${start ? 'end' : 'start'} is required.`);
  }
  return {
    subject: '',
    body: { contentType: 'text', content: '' },
    isAllDay: false,
    location: { displayName: '' },
    showAs: given.isAllDay ? 'free' : 'busy',
    sensitivity: 'normal',
    importance: 'normal',
    isReminderOn: true,
    reminderMinutesBeforeStart: defaultReminderMinutes,
    categories: [],
    attendees: [],
    responseRequested: true,
    allowNewTimeProposals: true,
    hideAttendees: false,
    isOnlineMeeting: false,
    onlineMeetingProvider: 'unknown',
    ...given,
    start,
    end,
  };
}

function eventRange(
  { start, end, isAllDay }: EventContent,
  refusedZones: readonly string[],
): { startMs: number; endMs: number } {
  if (refusedZones.includes(start.timeZone) || refusedZones.includes(end.timeZone)) throw unknownZone();
  const startMs = instantOf(start, 'start');
  const endMs = instantOf(end, 'end');
  if (endMs < startMs) {
    throw invalidProperty('The start must not be after the end.');
  }
  if (isAllDay) {
    if (start.timeZone !== end.timeZone || !isMidnight(start) || !isMidnight(end)) {
      throw invalidProperty('The start and end of an all-day event need to be midnight in the same time zone.');
    }
    // The clock may change on the day, hence not 24 hours.
    if (endMs - startMs < DAY_MS / 2) {
      throw invalidProperty('An all-day event lasts at least one day.');
    }
  }
  return { startMs, endMs };
}

function instantOf(time: EventTime, name: 'start' | 'end'): number {
  const instant = parseWallTime(time.dateTime, toIana(time.timeZone));
  if (instant === undefined) {
    throw invalidProperty(`Property: ${name}.dateTime.`);
  }
  return instant;
}

function isMidnight({ dateTime }: EventTime): boolean {
  return /T00:00(?::00(?:\.0+)?)?Z?$/.test(dateTime);
}

/** Each guest but the mailbox itself would get a mail, also one who is taken off. */
function countMails(world: World, mailbox: Mailbox, ...versions: EventContent[]): void {
  const attendees = versions.flatMap((content) => content.attendees);
  const guests = new Set(attendees.map(({ emailAddress }) => emailAddress.address.toLowerCase()));
  guests.delete(mailbox.mail.toLowerCase());
  world.counts.add('mails', guests.size);
}
