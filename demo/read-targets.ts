import type { GoogleSandbox } from '../sandbox/google/index.ts';
import type { GraphSandbox } from '../sandbox/graph/index.ts';
import { eventsOf } from '../sandbox/kit/icalendar.ts';

/** When an event is, as the target itself tells it: epoch milliseconds, or the dates of an all-day event as UTC midnights. */
export interface RemoteEvent {
  startAt: number;
  endAt: number;
}

/** Reads every event of a target by its own protocol; nothing of the product is used. */
export type RemoteReader = () => Promise<RemoteEvent[]>;

interface GoogleTime {
  date?: string;
  dateTime?: string;
}

/** All events of the account's calendar of this name; none when the calendar isn't there yet. */
export async function readGoogleEvents(
  google: GoogleSandbox,
  account: string,
  summary: string,
): Promise<RemoteEvent[]> {
  const token = google.issueAccessToken(account);
  const list = await getJson<{ items: { id: string; summary: string }[] }>(
    `${google.calendarApiUrl}/calendar/v3/users/me/calendarList?maxResults=250`,
    token,
  );
  const calendar = list.items.find((entry) => entry.summary === summary);
  if (calendar === undefined) return [];
  const events: RemoteEvent[] = [];
  for (let pageToken = ''; ; ) {
    const page = await getJson<{ items: { start: GoogleTime; end: GoogleTime }[]; nextPageToken?: string }>(
      `${google.calendarApiUrl}/calendar/v3/calendars/${encodeURIComponent(calendar.id)}/events?maxResults=2500${pageToken}`,
      token,
    );
    events.push(...page.items.map(({ start, end }) => ({ startAt: googleInstant(start), endAt: googleInstant(end) })));
    if (page.nextPageToken === undefined) return events;
    pageToken = `&pageToken=${encodeURIComponent(page.nextPageToken)}`;
  }
}

function googleInstant({ date, dateTime }: GoogleTime): number {
  return Date.parse(dateTime ?? `${date}T00:00:00Z`);
}

interface GraphEvent {
  start: { dateTime: string };
  end: { dateTime: string };
}

/** All events of the mailbox's calendar of this name; Graph tells times in UTC when it isn't asked for another zone. */
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

/** All events below a CalDAV home: its calendars are listed, and each is fetched whole as iCalendar. */
export async function readCaldavEvents(
  home: string,
  login: { username: string; password: string },
): Promise<RemoteEvent[]> {
  const authorization = `Basic ${Buffer.from(`${login.username}:${login.password}`).toString('base64')}`;
  const listing = await fetch(home, { method: 'PROPFIND', headers: { authorization, depth: '1' } });
  const hrefs = [...(await listing.text()).matchAll(/<(?:\w+:)?href>([^<]+)<\/(?:\w+:)?href>/g)].map(
    (match) => match[1],
  );
  const calendars = new Set(hrefs.map((href) => new URL(href ?? '', home).href).filter((url) => url !== home));
  const events: RemoteEvent[] = [];
  for (const url of calendars) {
    const response = await fetch(url, { headers: { authorization } });
    const text = await response.text();
    if (response.ok && text.startsWith('BEGIN:VCALENDAR'))
      events.push(...eventsOf(text).map(({ startAt, endAt }) => ({ startAt, endAt })));
  }
  return events;
}
