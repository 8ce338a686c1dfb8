import type { GoogleSandbox } from '../sandbox/google/index.ts';
import type { GraphSandbox } from '../sandbox/graph/index.ts';
import { eventsOf } from '../sandbox/kit/icalendar.ts';

/** Time of an event, as reported by the target: epoch milliseconds, or the dates of an all-day event as UTC midnights. */
export interface RemoteEvent {
  startAt: number;
  endAt: number;
}

/** Reads every event of a target by the target's protocol, without the product's code. */
export type RemoteReader = () => Promise<RemoteEvent[]>;

/** A time in Google's API: a date, or a time with its offset. */
export interface GoogleTime {
  date?: string;
  dateTime?: string;
}

/** An event in Google's API. */
export interface GoogleEvent {
  start: GoogleTime;
  end: GoogleTime;
  summary?: string;
}

/** All events of the account's calendar of this name; none when the calendar isn't there yet. */
export async function readGoogleEvents(
  google: GoogleSandbox,
  account: string,
  summary: string,
): Promise<RemoteEvent[]> {
  const calendar = (await calendarsOf(google, account)).find((entry) => entry.summary === summary);
  return (calendar?.events ?? []).map(({ start, end }) => ({
    startAt: googleInstant(start),
    endAt: googleInstant(end),
  }));
}

/** The account's calendars with all their events, as Google's API lists them. */
export async function calendarsOf(
  google: GoogleSandbox,
  account: string,
): Promise<{ summary: string; events: GoogleEvent[] }[]> {
  // Uses a separate client, because the observer must not spend the daemon's quota.
  const token = google.issueAccessToken(account, { clientId: 'observer' });
  const api = `${google.calendarApiUrl}/calendar/v3`;
  const list = await getJson<{ items: { id: string; summary: string }[] }>(
    `${api}/users/me/calendarList?maxResults=250`,
    token,
  );
  return await Promise.all(
    list.items.map(async ({ id, summary }) => {
      const events: GoogleEvent[] = [];
      for (let pageToken: string | undefined = ''; pageToken !== undefined; ) {
        const next: string = pageToken === '' ? '' : `&pageToken=${encodeURIComponent(pageToken)}`;
        const page: { items: GoogleEvent[]; nextPageToken?: string } = await getJson(
          `${api}/calendars/${encodeURIComponent(id)}/events?maxResults=2500${next}`,
          token,
        );
        events.push(...page.items);
        pageToken = page.nextPageToken;
      }
      return { summary, events };
    }),
  );
}

function googleInstant({ date, dateTime }: GoogleTime): number {
  return Date.parse(dateTime ?? `${date}T00:00:00Z`);
}

interface GraphEvent {
  start: { dateTime: string };
  end: { dateTime: string };
}

/** Returns all events of the mailbox's calendar with this name. Graph reports times in UTC by default. */
export async function readOutlookEvents(graph: GraphSandbox, mailbox: string, name: string): Promise<RemoteEvent[]> {
  const token = graph.issueAccessToken(mailbox);
  const list = await getJson<{ value: { id: string; name: string }[] }>(
    `${graph.graphUrl}/v1.0/me/calendars?$top=100`,
    token,
  );
  const calendar = list.value.find((entry) => entry.name === name);
  if (calendar === undefined) return [];
  const events: RemoteEvent[] = [];
  let url: string | undefined =
    `${graph.graphUrl}/v1.0/me/calendars/${encodeURIComponent(calendar.id)}/events?$top=500`;
  while (url !== undefined) {
    const page: { value: GraphEvent[]; '@odata.nextLink'?: string } = await getJson(url, token);
    const instant = ({ dateTime }: { dateTime: string }) => Date.parse(`${dateTime.slice(0, 19)}Z`);
    events.push(...page.value.map(({ start, end }) => ({ startAt: instant(start), endAt: instant(end) })));
    url = page['@odata.nextLink'];
  }
  return events;
}

async function getJson<Body>(url: string, token: string): Promise<Body> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`reading the target back: status ${response.status}`);
  return (await response.json()) as Body;
}

/** Returns all events of a CalDAV home, from each of its calendars. */
export async function readCaldavEvents(
  home: string,
  login: { username: string; password: string },
): Promise<RemoteEvent[]> {
  const authorization = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const ask = async (method: string, url: string, body = '') => {
    const headers = { authorization, depth: '1', 'content-type': 'application/xml; charset=utf-8' };
    const response = await fetch(url, { method, headers, ...(body === '' ? {} : { body }) });
    return response.ok ? await response.text() : '';
  };
  const hrefs = [...(await ask('PROPFIND', home)).matchAll(/<(?:[\w-]+:)?href>([^<]+)</g)].map(
    ([, href]) => href ?? '',
  );
  const calendars = new Set(
    hrefs.map((href) => new URL(href, home).href).filter((url) => url.startsWith(home) && url !== home),
  );
  const events: RemoteEvent[] = [];
  for (const url of calendars) {
    for (const [, , data = ''] of (await ask('REPORT', url, ALL_EVENTS)).matchAll(CALENDAR_DATA))
      events.push(...eventsOf(decoded(data)).map(({ startAt, endAt }) => ({ startAt, endAt })));
  }
  return events;
}

const ALL_EVENTS =
  '<C:calendar-query xmlns:D="DAV:" xmlns:C="urn:ietf:params:xml:ns:caldav"><D:prop><C:calendar-data/></D:prop><C:filter>' +
  '<C:comp-filter name="VCALENDAR"><C:comp-filter name="VEVENT"/></C:comp-filter></C:filter></C:calendar-query>';
const CALENDAR_DATA = /<((?:[\w-]+:)?calendar-data)\b[^>]*>([\s\S]*?)<\/\1>/g;
const ENTITIES: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

/** Text within an element of XML. */
function decoded(text: string): string {
  const [, inner] = /^\s*<!\[CDATA\[([\s\S]*)\]\]>\s*$/.exec(text) ?? [];
  return (
    inner ??
    text.replaceAll(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (whole, decimal, hex, name) =>
      name === undefined
        ? String.fromCodePoint(Number.parseInt(decimal ?? hex, decimal === undefined ? 16 : 10))
        : (ENTITIES[name] ?? whole),
    )
  );
}
