import { randomUUID } from 'node:crypto';
import ICAL from 'ical.js';
import {
  type FaultProxy,
  type ProxiedAnswer,
  type ProxyMatch,
  startFaultProxy,
} from '../../../sandbox/kit/fault-proxy.ts';
import { caldav } from '../../../src/connectors/caldav/index.ts';
import type { Authorizer } from '../../../src/connectors/connector.ts';
import type { ItemKey, Operation } from '../../../src/model/operations.ts';
import type { PrivateRadicale } from '../../../tools/radicale.ts';
import type { ContractDialect, ContractServer, ContractTarget, RemoteObject } from '../../contract/contract-target.ts';

/** A fresh, empty calendar on a real server, behind a fault proxy. */
export async function openRadicaleTarget(radicale: PrivateRadicale): Promise<ContractTarget> {
  const proxy = await startFaultProxy(radicale.url);
  const hands = new Hands(radicale);
  const path = `/${hands.user}/${randomUUID()}/`;
  await hands.createCalendar(path);
  const container = `${proxy.url}${path}`;
  const home = `${proxy.url}/${hands.user}/`;
  return {
    supports: caldav.supports,
    container,
    authorizer: basicLogin(hands.login),
    open({ createCalendar, ...worker }) {
      const calendar = createCalendar === null ? { url: container } : { home, create: createCalendar };
      return caldav.open({ ...worker, settings: { calendar }, clock: tickingClock() });
    },
    proxy,
    server: serverOf(hands, path, proxy.url),
    dialect: dialectOf(proxy),
    async close() {
      await proxy.close();
      for (const calendar of await hands.calendars()) await hands.send('DELETE', calendar);
    },
  };
}

/** Basic login; there is nothing to renew. */
function basicLogin(login: string): Authorizer {
  return { header: async () => login, renew: async () => login, quotaUser: null };
}

let ticks = 0;

/** A second later with every look, so that an object written twice never has the same bytes. */
function tickingClock(): () => number {
  return () => {
    ticks += 1;
    return Date.UTC(2026, 10, 20) + ticks * 1_000;
  };
}

/** A person at another client of the same account: plain requests, past the proxy. */
class Hands {
  readonly user: string;
  readonly login: string;
  readonly url: string;

  constructor(radicale: PrivateRadicale) {
    const [user] = radicale.users;
    if (user === undefined) throw new Error('the server has no user');
    this.user = user.name;
    this.login = `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}`;
    this.url = radicale.url;
  }

  async send(method: string, path: string, body?: string, headers: Record<string, string> = {}): Promise<Response> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: { authorization: this.login, ...headers },
      ...(body === undefined ? {} : { body }),
    });
    if (!response.ok && response.status !== 404) throw new Error(`${method} by hand: ${response.status}`);
    return response;
  }

  async createCalendar(path: string): Promise<void> {
    await this.send('MKCALENDAR', path);
  }

  async calendars(): Promise<string[]> {
    return (await this.#list(`/${this.user}/`)).filter((path) => path !== `/${this.user}/`);
  }

  async members(path: string): Promise<string[]> {
    return (await this.#list(path)).filter((member) => !member.endsWith('/'));
  }

  async #list(path: string): Promise<string[]> {
    const response = await this.send('PROPFIND', path, undefined, { depth: '1' });
    if (response.status === 404) return [];
    return [...(await response.text()).matchAll(/<response><href>([^<]*)<\/href>/g)].map((match) => match[1] ?? '');
  }
}

function serverOf(hands: Hands, path: string, proxyUrl: string): ContractServer {
  const pathOf = (remoteId: string) => `${path}${/\.ics$/.test(remoteId) ? remoteId : `${remoteId}.ics`}`;
  async function change(remoteId: string, edit: (event: ICAL.Component) => void): Promise<void> {
    const calendar = ICAL.Component.fromString(await (await hands.send('GET', pathOf(remoteId))).text());
    edit(eventOf(calendar));
    await hands.send('PUT', pathOf(remoteId), calendar.toString(), { 'content-type': 'text/calendar' });
  }
  return {
    async objects(container = `${proxyUrl}${path}`) {
      const members = await hands.members(new URL(container).pathname);
      return await Promise.all(members.map(async (member) => remoteObject(member, await hands.send('GET', member))));
    },
    editByHand: (remoteId, { title }) =>
      change(remoteId, (event) => void event.updatePropertyWithValue('summary', title)),
    async deleteByHand(remoteId) {
      await hands.send('DELETE', pathOf(remoteId));
    },
    removeMarkByHand: (remoteId) => change(remoteId, (event) => void event.removeAllProperties('x-clinic-mirror')),
    async renameByHand(remoteId) {
      const name = `${randomUUID()}.ics`;
      const destination = { destination: `${hands.url}${path}${name}` };
      await hands.send('MOVE', pathOf(remoteId), undefined, destination);
      return name;
    },
    async putForeign(title, key) {
      const uid = key ?? `foreign-${randomUUID()}`;
      await hands.send('PUT', pathOf(uid), foreignEvent(uid, title), { 'content-type': 'text/calendar' });
      return remoteIdOf(`${uid}.ics`);
    },
    containers: async () => (await hands.calendars()).map((calendar) => `${proxyUrl}${calendar}`),
    async deleteContainer(container) {
      await hands.send('DELETE', new URL(container).pathname);
    },
    mails: () => null,
  };
}

function remoteIdOf(name: string): ItemKey {
  return name.replace(/^([0-9a-v]{32})\.ics$/, '$1');
}

function eventOf(calendar: ICAL.Component): ICAL.Component {
  const event = calendar.getFirstSubcomponent('vevent');
  if (event === null) throw new Error('no event in the object');
  return event;
}

function foreignEvent(uid: string, title: string): string {
  return [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    'PRODID:-//a person//EN',
    'BEGIN:VEVENT',
    `UID:${uid}`,
    'DTSTAMP:20261120T080000Z',
    'DTSTART:20270310T100000Z',
    'DTEND:20270310T110000Z',
    `SUMMARY:${title}`,
    'END:VEVENT',
    'END:VCALENDAR',
    '',
  ].join('\r\n');
}

async function remoteObject(path: string, response: Response): Promise<RemoteObject> {
  const calendar = ICAL.Component.fromString(await response.text());
  const event = eventOf(calendar);
  const text = (name: string) => event.getFirstPropertyValue(name)?.toString() ?? null;
  const start = event.getFirstPropertyValue('dtstart') as ICAL.Time;
  const end = event.getFirstPropertyValue('dtend') as ICAL.Time;
  const isAllDay = start.isDate;
  return {
    remoteId: remoteIdOf(path.slice(path.lastIndexOf('/') + 1)),
    ownerTag: text('x-clinic-mirror'),
    sealedRecordId: text('x-clinic-mirror-locator'),
    title: text('summary') ?? '',
    description: text('description') ?? '',
    location: text('location') ?? '',
    startAt: isAllDay ? null : instantOf(calendar, event, 'dtstart'),
    endAt: isAllDay ? null : instantOf(calendar, event, 'dtend'),
    zone: isAllDay ? null : (tzidOf(event, 'dtstart') ?? text('x-clinic-mirror-zone')),
    startDate: isAllDay ? start.toString() : null,
    endDate: isAllDay ? end.toString() : null,
    busy: text('transp') !== 'TRANSPARENT',
    isPrivate: text('class') === 'PRIVATE',
    attendees: event.getAllProperties('attendee').length,
    alarms: event.getAllSubcomponents('valarm').length,
    version: response.headers.get('etag') ?? '',
  };
}

/** By the VTIMEZONE within the object alone, as a client does that knows no zone by name. */
function instantOf(calendar: ICAL.Component, event: ICAL.Component, name: string): number {
  const time = (event.getFirstPropertyValue(name) as ICAL.Time).clone();
  const zone = calendar
    .getAllSubcomponents('vtimezone')
    .find((candidate) => candidate.getFirstPropertyValue('tzid') === tzidOf(event, name));
  if (zone !== undefined) time.zone = new ICAL.Timezone(zone);
  return time.toUnixTime() * 1_000;
}

function tzidOf(event: ICAL.Component, name: string): string | null {
  return event.getFirstProperty(name)?.getFirstParameter('tzid')?.toString() ?? null;
}

const CHANGES: ProxyMatch = { method: /^REPORT$/, body: /<D:sync-token>[^<]/ };

function dialectOf(proxy: FaultProxy): ContractDialect {
  const writesOf = ({ key }: Operation) => ({ method: /^(PUT|DELETE)$/, url: new RegExp(key) });
  return {
    writes: { method: /^(PUT|DELETE)$/ },
    reads: { method: /^REPORT$/ },
    changes: CHANGES,
    throttled: (retryAfter) => plain(429, retryAfter === null ? {} : { 'retry-after': retryAfter }),
    unauthorized: () => plain(401, { 'www-authenticate': 'Basic realm="calendars"' }),
    forbidden: () => davError(403, '<d:need-privileges/>'),
    unavailable: () => plain(503),
    requestsForCreates: (n) => n,
    requestsForReading: (n) => (n === 0 ? 2 : 1 + Math.ceil(n / 50)),
    // The PUT whose answer is lost, the PUT that meets it, and the look at what is there.
    requestsForRetriedCreates: (n) => 3 * n,
    withUnknownFields: (answer) => ({
      ...answer,
      body: answer.body
        .toString()
        .replaceAll('</prop>', '<q:new xmlns:q="urn:example">1</q:new></prop>')
        .replaceAll('END:VEVENT', 'X-NEW-WORD;X-OF=today:1\nEND:VEVENT'),
    }),
    expireCursors: () =>
      proxy.add({ ...CHANGES, fault: { kind: 'answer', answer: davError(403, '<d:valid-sync-token/>') } }),
    poison(operation) {
      const answer = davError(403, '<c:valid-calendar-data/>');
      proxy.add({ ...writesOf(operation), times: Number.POSITIVE_INFINITY, fault: { kind: 'answer', answer } });
      return operation;
    },
    failOnce: (operation) => proxy.add({ ...writesOf(operation), fault: { kind: 'answer', answer: plain(500) } }),
    dropAnswerOf: (operation) => proxy.add({ ...writesOf(operation), fault: { kind: 'lost-answer' } }),
  };
}

function plain(status: number, headers: Record<string, string> = {}): ProxiedAnswer {
  return { status, headers: { 'content-type': 'text/plain', ...headers }, body: 'no' };
}

function davError(status: number, condition: string): ProxiedAnswer {
  const body = `<d:error xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav">${condition}</d:error>`;
  return { status, headers: { 'content-type': 'application/xml' }, body };
}
