import ICAL from 'ical.js';
import type { GoogleSandbox } from '../sandbox/google/index.ts';
import type { GraphSandbox, SeenEvent } from '../sandbox/graph/index.ts';
import type { TargetIdentity } from '../src/engine/identity.ts';
import { only } from './appointments.ts';

/** An event in a calendar, of any origin. */
export interface HandledEvent {
  /** Google's event id or CalDAV's UID. Outlook assigns names itself: clinic-mirror's encrypted record id, or the id of a foreign event. */
  id: string;
  title: string;
  /** All visible content, and clinic-mirror's marks, as text to compare. Writing equal content again changes nothing. */
  content: string;
  /** It carries our mark. */
  own: boolean;
}

/** Simulates a user of the calendar's own pages. The product's code is not used, and no request counts as the product's. */
export interface CalendarHands {
  events(): Promise<HandledEvent[]>;
  /** The id that the event of an appointment has here. */
  idOf(identity: TargetIdentity, recordId: string): string;
  retitle(id: string, title: string): Promise<void>;
  remove(id: string): Promise<void>;
  /** Adds an event of the person's own. */
  add(title: string): Promise<void>;
  removeCalendar(): Promise<void>;
}

/** The account's only calendar in addition to the primary calendar. */
export function googleHands(google: GoogleSandbox, account: string): CalendarHands {
  const calendarId = async () => {
    const authorization = `Bearer ${google.issueAccessToken(account)}`;
    const url = `${google.calendarApiUrl}/calendar/v3/users/me/calendarList`;
    const list = (await (await fetch(url, { headers: { authorization } })).json()) as {
      items: { id: string; primary?: boolean }[];
    };
    return only(list.items.filter(({ primary }) => primary !== true)).id;
  };
  return {
    idOf: (identity, recordId) => identity.key(recordId, 0),
    async events() {
      return google.events(await calendarId()).map((event) => {
        const { summary, description, location, start, end, visibility, transparency, extendedProperties } = event;
        const seen = { summary, description, location, start, end, visibility, transparency };
        const marked = (extendedProperties ?? {}) as { private?: Record<string, string> };
        const { clinicMirrorRevision: _, ...marks } = marked.private ?? {};
        return {
          id: String(event.id),
          title: String(summary),
          content: JSON.stringify({ ...seen, marks }),
          own: extendedProperties !== undefined,
        };
      });
    },
    retitle: async (id, title) => void google.editByHand(await calendarId(), id, { summary: title }),
    remove: async (id) => google.deleteByHand(await calendarId(), id),
    async add(title) {
      const [start, end] = [{ dateTime: '2027-03-10T12:00:00Z' }, { dateTime: '2027-03-10T13:00:00Z' }];
      google.addByHand(await calendarId(), { summary: title, start, end });
    },
    removeCalendar: async () => google.deleteCalendar(await calendarId()),
  };
}

/** The mailbox's only calendar in addition to the default calendar. */
export function outlookHands(graph: GraphSandbox, mailbox: string): CalendarHands {
  const calendarId = () => {
    const own = graph.defaultCalendar(mailbox);
    return only(graph.calendars(mailbox).filter(({ id }) => id !== own)).id;
  };
  const seen = () => graph.events(mailbox, calendarId());
  const find = (id: string) => only(seen().filter((event) => handledInOutlook(event).id === id)).id;
  return {
    idOf: (identity, recordId) => identity.sealedRecordId(recordId),
    events: async () => seen().map(handledInOutlook),
    retitle: async (id, title) => void graph.editByHand(mailbox, find(id), { subject: title }),
    remove: async (id) => graph.deleteByHand(mailbox, find(id)),
    async add(title) {
      const [start, end] = ['2027-03-10T12:00:00', '2027-03-10T13:00:00'].map((dateTime) => {
        return { dateTime, timeZone: 'UTC' };
      });
      graph.addByHand(mailbox, calendarId(), { subject: title, start, end });
    },
    removeCalendar: async () => graph.deleteCalendar(mailbox, calendarId()),
  };
}

/** Omits the key, which differs in a recreated event, and the revision, which differs after every write. Users see neither. */
function handledInOutlook(event: SeenEvent): HandledEvent {
  const { subject, body, location, start, end, isAllDay, showAs, sensitivity, isReminderOn, attendees } = event;
  const properties = new Map(
    event.singleValueExtendedProperties.map(({ id, value }) => [id.replace(/^.* Name /, ''), value]),
  );
  properties.delete('MirrorKey');
  properties.delete('MirrorRevision');
  const seen = { subject, body, location, start, end, isAllDay, showAs, sensitivity, isReminderOn, attendees };
  return {
    id: properties.get('MirrorLocator') ?? event.id,
    title: subject,
    content: JSON.stringify({ ...seen, properties: [...properties].sort() }),
    own: properties.has('MirrorMark'),
  };
}

/** The one calendar below a CalDAV home. */
export function caldavHands(home: string, login: { username: string; password: string }): CalendarHands {
  const authorization = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  async function send(method: string, url: string, body?: string, headers: Record<string, string> = {}) {
    const given = { method, headers: { authorization, ...headers }, ...(body === undefined ? {} : { body }) };
    const response = await fetch(url, given);
    if (!response.ok) throw new Error(`${method} by hand: status ${response.status}`);
    return await response.text();
  }
  const find = async () => {
    const listing = await send('PROPFIND', home, undefined, { depth: '1' });
    const hrefs = [...listing.matchAll(/<(?:\w+:)?href>([^<]+)<\/(?:\w+:)?href>/g)].map(([, href]) => href ?? '');
    return only(
      [...new Set(hrefs.map((href) => new URL(href, home).href))].filter((url) => url.startsWith(home) && url !== home),
    );
  };
  // Listing a home with a thousand events takes a server long.
  let found: Promise<string> | null = null;
  const calendarUrl = () => {
    found ??= find();
    return found;
  };
  const urlOf = async (id: string) => `${await calendarUrl()}${id}.ics`;
  const put = (url: string, body: string) => send('PUT', url, body, { 'content-type': 'text/calendar' });
  return {
    idOf: (identity, recordId) => identity.key(recordId, 0),
    async events() {
      const text = await send('GET', await calendarUrl());
      return ICAL.Component.fromString(text).getAllSubcomponents('vevent').map(handled);
    },
    async retitle(id, title) {
      const url = await urlOf(id);
      const calendar = ICAL.Component.fromString(await send('GET', url));
      calendar.getFirstSubcomponent('vevent')?.updatePropertyWithValue('summary', title);
      await put(url, calendar.toString());
    },
    remove: async (id) => void (await send('DELETE', await urlOf(id))),
    async add(title) {
      const uid = `by-hand-${crypto.randomUUID()}`;
      const lines = ['BEGIN:VEVENT', `UID:${uid}`, 'DTSTAMP:20270101T000000Z', `SUMMARY:${title}`];
      const event = [...lines, 'DTSTART:20270310T120000Z', 'DTEND:20270310T130000Z', 'END:VEVENT'];
      const calendar = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//by hand//EN', ...event, 'END:VCALENDAR'];
      await put(await urlOf(uid), `${calendar.join('\r\n')}\r\n`);
    },
    async removeCalendar() {
      await send('DELETE', await calendarUrl());
      found = null;
    },
  };
}

/** Change with every write, the content being the same. */
const VOLATILE = new Set(['dtstamp', 'last-modified', 'created', 'sequence', 'x-clinic-mirror-revision']);

function handled(event: ICAL.Component): HandledEvent {
  const properties = event.getAllProperties().filter(({ name }) => !VOLATILE.has(name));
  return {
    id: String(event.getFirstPropertyValue('uid')),
    title: String(event.getFirstPropertyValue('summary')),
    content: properties
      .map((property) => property.toICALString())
      .sort()
      .join('\n'),
    own: event.hasProperty('x-clinic-mirror'),
  };
}
