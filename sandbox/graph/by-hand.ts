import { removeCalendar } from './calendars.ts';
import { parseEventBody } from './event-fields.ts';
import { type EventResource, toResource } from './event-resource.ts';
import type { StoredEvent } from './event-store.ts';
import { changeEvent, createEvent, moveEvent, renewEventId, softDeleteEvent } from './event-writes.ts';
import { canonicalPropertyId } from './extended-properties.ts';
import { newCalendarId } from './ids.ts';
import { readPreferences } from './preferences.ts';
import type { Calendar, DeltaEnd, Mailbox, World } from './world.ts';

/** An event as a test sees it: whole, with all its extended properties and under its immutable id. */
export type SeenEvent = EventResource & {
  singleValueExtendedProperties: { id: string; value: string }[];
  /** The id in the default format. */
  restId: string;
  calendarId: string;
  /** True if the event is in Deleted Items. */
  isDeleted: boolean;
};

/**
 * Actions of a user or an administrator, without token or limits. Callers identify a mailbox by email address or object id, a calendar by
 * id or `default`, and an event by either id format. Unknown objects throw Error, invalid fields throw GraphError.
 */
export interface ByHand {
  /** Makes a user with a mailbox, or changes its licence. Returns the user's object id. */
  addMailbox(mail: string, options?: { licensed?: boolean }): string;
  /** Lets another account use a mailbox; its token needs a scope that ends in `.Shared`. */
  shareMailbox(mailbox: string, account: string): void;
  /** Returns the new calendar's id. */
  createCalendar(mailbox: string, name: string): string;
  deleteCalendar(mailbox: string, calendar: string): void;
  defaultCalendar(mailbox: string): string;
  calendars(mailbox: string): { id: string; name: string }[];
  /** With `includeDeleted` also those in Deleted Items that were in the calendar. */
  events(mailbox: string, calendar: string, options?: { includeDeleted?: boolean }): SeenEvent[];
  event(mailbox: string, eventId: string): SeenEvent | undefined;
  addByHand(mailbox: string, calendar: string, fields: object): SeenEvent;
  /** Changes what is given; an extended property with value null goes away. */
  editByHand(mailbox: string, eventId: string, changes: object): SeenEvent;
  deleteByHand(mailbox: string, eventId: string): void;
  /** The event gets a new id in the default format. */
  moveByHand(mailbox: string, eventId: string, toCalendar: string): SeenEvent;
  /**
   * Gives each event new ids in both formats, and with `calendars` each calendar too, as after a mailbox move to another organisation or a
   * restore from an archive. Content, extended properties and transactionIds stay. Delta links become invalid.
   */
  renewIds(mailbox: string, options?: { calendars?: boolean }): void;
  /** Ends all delta links: 410 with Location (default), or 404 syncStateNotFound. */
  expireDeltaTokens(end?: DeltaEnd): void;
}

/** The verbs of a world. */
export function byHand(world: World): ByHand {
  const preferences = readPreferences({ prefer: 'IdType="ImmutableId", outlook.body-content-type="text"' });
  function see(mailbox: Mailbox, event: StoredEvent): SeenEvent {
    const resource = toResource(event, { mailbox, settings: world.settings, preferences, expanded: [] });
    const singleValueExtendedProperties = [...event.properties].map(([id, value]) => ({ id, value }));
    const { restId, calendarId, isDeleted } = event;
    return { ...resource, body: event.content.body, singleValueExtendedProperties, restId, calendarId, isDeleted };
  }
  return {
    ...calendarVerbs(world),
    events: (mailboxName, calendarName, { includeDeleted = false } = {}) => {
      const mailbox = mailboxOf(world, mailboxName);
      const { id } = calendarOf(mailbox, calendarName);
      const events = includeDeleted
        ? [...mailbox.events.values()].filter(({ calendarId }) => calendarId === id)
        : [...mailbox.events.inCalendar(id)];
      return events.map((event) => see(mailbox, event));
    },
    event: (mailboxName, eventId) => {
      const mailbox = mailboxOf(world, mailboxName);
      const event = mailbox.events.get(eventId);
      return event && see(mailbox, event);
    },
    addByHand: (mailboxName, calendarName, fields) => {
      const mailbox = mailboxOf(world, mailboxName);
      const body = parseEventBody({ ...fields });
      return see(mailbox, createEvent(world, mailbox, calendarOf(mailbox, calendarName).id, body));
    },
    editByHand: (mailboxName, eventId, changes) => {
      const mailbox = mailboxOf(world, mailboxName);
      const { body, dropped } = splitDropped(changes);
      return see(mailbox, changeEvent(world, mailbox, eventOf(mailbox, eventId), parseEventBody(body), dropped));
    },
    deleteByHand: (mailboxName, eventId) => {
      const mailbox = mailboxOf(world, mailboxName);
      softDeleteEvent(world, mailbox, eventOf(mailbox, eventId));
    },
    moveByHand: (mailboxName, eventId, toCalendar) => {
      const mailbox = mailboxOf(world, mailboxName);
      return see(mailbox, moveEvent(world, mailbox, eventOf(mailbox, eventId), calendarOf(mailbox, toCalendar)));
    },
  };
}

function calendarVerbs(world: World) {
  return {
    addMailbox: (mail: string, { licensed = true }: { licensed?: boolean } = {}): string => {
      const mailbox = world.mailbox(mail);
      mailbox.licensed = licensed;
      return mailbox.id;
    },
    shareMailbox: (mailbox: string, account: string): void => {
      mailboxOf(world, mailbox).sharedWith.add(account.toLowerCase());
    },
    createCalendar: (mailbox: string, name: string): string => world.addCalendar(world.mailbox(mailbox), name).id,
    deleteCalendar: (mailboxName: string, calendar: string): void => {
      const mailbox = mailboxOf(world, mailboxName);
      removeCalendar(world, mailbox, calendarOf(mailbox, calendar));
    },
    defaultCalendar: (mailbox: string): string => mailboxOf(world, mailbox).defaultCalendarId,
    calendars: (mailbox: string): { id: string; name: string }[] =>
      [...mailboxOf(world, mailbox).calendars.values()].map(({ id, name }) => ({ id, name })),
    renewIds: (mailboxName: string, { calendars = false }: { calendars?: boolean } = {}): void => {
      const mailbox = mailboxOf(world, mailboxName);
      const renamed = calendars ? renewCalendarIds(mailbox) : new Map<string, string>();
      for (const event of [...mailbox.events.values()]) {
        renewEventId(world, mailbox, event, renamed.get(event.calendarId) ?? event.calendarId);
      }
      mailbox.deltaGeneration += 1;
    },
    expireDeltaTokens: (end: DeltaEnd = 'gone'): void => {
      for (const mailbox of world.mailboxes) {
        mailbox.deltaGeneration += 1;
        mailbox.deltaEnd = end;
      }
    },
  };
}

/** @returns the new id by the old one */
function renewCalendarIds(mailbox: Mailbox): Map<string, string> {
  const renamed = new Map<string, string>();
  for (const calendar of [...mailbox.calendars.values()]) {
    const id = newCalendarId();
    renamed.set(calendar.id, id);
    mailbox.calendars.delete(calendar.id);
    if (calendar.isDefault) {
      mailbox.defaultCalendarId = id;
    }
    mailbox.calendars.set(id, { ...calendar, id });
  }
  return renamed;
}

function mailboxOf(world: World, name: string): Mailbox {
  const mailbox = world.find(name);
  if (!mailbox) {
    throw new Error(`The sandbox has no mailbox ${name}`);
  }
  return mailbox;
}

function calendarOf(mailbox: Mailbox, id: string): Calendar {
  const calendar = mailbox.calendars.get(id === 'default' ? mailbox.defaultCalendarId : id);
  if (!calendar) {
    throw new Error(`The mailbox has no calendar ${id}`);
  }
  return calendar;
}

function eventOf(mailbox: Mailbox, id: string): StoredEvent {
  const event = mailbox.events.get(id);
  if (!event || event.isDeleted) {
    throw new Error(`The mailbox has no event ${id}`);
  }
  return event;
}

function splitDropped(changes: object): { body: Record<string, unknown>; dropped: string[] } {
  const { singleValueExtendedProperties, ...rest }: Record<string, unknown> = { ...changes };
  const given: unknown[] = Array.isArray(singleValueExtendedProperties) ? singleValueExtendedProperties : [];
  const isDropped = (property: unknown): property is { id: string; value: null } =>
    typeof property === 'object' && property !== null && 'value' in property && property.value === null;
  const dropped = given.filter(isDropped).map(({ id }) => canonicalPropertyId(id));
  return { body: { ...rest, singleValueExtendedProperties: given.filter((each) => !isDropped(each)) }, dropped };
}
