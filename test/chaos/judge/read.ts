import { eventsOf } from '../../../sandbox/kit/icalendar.ts';
import type { RemoteObject } from './compare.ts';

interface GoogleTime {
  date?: string;
  dateTime?: string;
}

interface GoogleEvent {
  id: string;
  summary?: string;
  start: GoogleTime;
  end: GoogleTime;
}

/** Reads everything in a target's account outside of the default calendar, over the wire; uses no code of the product. */
export type ReadTarget = () => Promise<RemoteObject[]>;

/** Reads every event of every calendar of a Google account except the primary one. @param url root of the API */
export async function readGoogle(url: string, token: string): Promise<RemoteObject[]> {
  const list = await getJson<{ items: { id: string; primary?: boolean }[] }>(
    `${url}/calendar/v3/users/me/calendarList?maxResults=250`,
    token,
  );
  const found: RemoteObject[] = [];
  for (const { id: container, primary } of list.items) {
    if (primary === true) continue;
    const page = await getJson<{ items: GoogleEvent[]; nextPageToken?: string }>(
      `${url}/calendar/v3/calendars/${encodeURIComponent(container)}/events?maxResults=2500`,
      token,
    );
    if (page.nextPageToken !== undefined) throw new Error('a calendar of a chaos run has more events than it should');
    for (const { id, summary = '', start, end } of page.items) {
      found.push({ id, container, title: summary, startAt: googleTime(start), endAt: googleTime(end) });
    }
  }
  return found;
}

function googleTime({ date, dateTime }: GoogleTime): number {
  return Date.parse(dateTime ?? `${date}T00:00:00Z`);
}

interface GraphEvent {
  id: string;
  subject?: string;
  start: { dateTime: string };
  end: { dateTime: string };
}

/** Every event of every calendar of a mailbox but its own, times in UTC. @param url root of Graph, without the version */
export async function readGraph(url: string, token: string, own: string): Promise<RemoteObject[]> {
  const list = await getJson<{ value: { id: string; name: string }[] }>(`${url}/v1.0/me/calendars?$top=100`, token);
  const found: RemoteObject[] = [];
  for (const { id: container } of list.value) {
    if (container === own) continue;
    const page = await getJson<{ value: GraphEvent[]; '@odata.nextLink'?: string }>(
      `${url}/v1.0/me/calendars/${encodeURIComponent(container)}/events?$top=500`,
      token,
    );
    if (page['@odata.nextLink'] !== undefined) throw new Error('a calendar of a chaos run has more than it should');
    for (const { id, subject = '', start, end } of page.value) {
      found.push({ id, container, title: subject, startAt: graphTime(start), endAt: graphTime(end) });
    }
  }
  return found;
}

function graphTime({ dateTime }: { dateTime: string }): number {
  return Date.parse(`${dateTime.slice(0, 19)}Z`);
}

async function getJson<Body>(url: string, token: string): Promise<Body> {
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`reading a target back: status ${response.status}`);
  return (await response.json()) as Body;
}

/** Credentials for a CalDAV server. */
export interface DavLogin {
  username: string;
  password: string;
}

/** Returns the URLs of the calendars in a CalDAV home, or of the objects in a calendar; none if it does not exist. */
export async function davMembers(url: string, login: DavLogin): Promise<string[]> {
  const answer = await fetch(url, { method: 'PROPFIND', headers: { authorization: basic(login), depth: '1' } });
  const text = await answer.text();
  if (answer.status === 404) return [];
  const hrefs = [...text.matchAll(/<(?:\w+:)?href>([^<]+)<\/(?:\w+:)?href>/g)];
  const members = hrefs.map(([, href = '']) => new URL(href.replaceAll('&amp;', '&'), url).href);
  return [...new Set(members)].filter((member) => member.startsWith(url) && member.length > url.length);
}

/** The value of the header Authorization. */
export function basic({ username, password }: DavLogin): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}

/** Every event of every calendar below a CalDAV home; an object is known by its UID, which two may have. */
export async function readCaldav(home: string, login: DavLogin): Promise<RemoteObject[]> {
  const found: RemoteObject[] = [];
  for (const container of await davMembers(home, login)) {
    const answer = await fetch(container, { headers: { authorization: basic(login) } });
    const text = await answer.text();
    if (answer.ok && text.startsWith('BEGIN:VCALENDAR')) {
      found.push(...eventsOf(text).map((event) => ({ container, ...event })));
    }
  }
  return found;
}
