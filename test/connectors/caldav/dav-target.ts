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
import type { ItemKey, Operation } from '../../../src/core/model/operations.ts';
import type { PrivateDavServer } from '../../../tools/dav-server.ts';
import type { OwnTarget, PersonsHands } from '../../contract/cases/persons-own.ts';
import type { ContractDialect, ContractServer, RemoteObject } from '../../contract/contract-target.ts';
import { type DavAccount, DavHands, eventOf } from './dav-hands.ts';

/** Extra requests of a server, compared with one that gives strong ETags, searches for properties and lists absent objects. */
export interface DavCosts {
  /** A PUT gives no strong ETag: a multiget for fifty follows, and an update of what it couldn't read looks first. */
  givesNoTags?: boolean;
  /** Additional requests to read an empty calendar. */
  emptyReading?: number;
}

/** The account of a private server's first user. */
export function firstAccount({ url, users, homePathOf }: PrivateDavServer): DavAccount {
  const [user] = users;
  if (user === undefined) throw new Error('the server has no user');
  const login = `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}`;
  return { url, homePath: homePathOf(user.name), login };
}

/** A fresh, empty calendar on a server, behind a fault proxy. */
export async function openDavTarget(account: DavAccount, costs: DavCosts = {}): Promise<OwnTarget> {
  const proxy = await startFaultProxy(account.url);
  const hands = new DavHands(account);
  const before = new Set(await hands.calendars());
  const path = `${account.homePath}${randomUUID()}/`;
  await hands.createCalendar(path);
  const container = `${proxy.url}${path}`;
  const home = `${proxy.url}${account.homePath}`;
  return {
    supports: caldav.supports,
    container,
    authorizer: basicLogin(account.login),
    open({ createCalendar, ...worker }) {
      const calendar = createCalendar === null ? { url: container } : { home, create: createCalendar };
      return caldav.open({ ...worker, settings: { calendar }, clock: tickingClock() });
    },
    proxy,
    server: serverOf(hands, path, proxy.url),
    dialect: dialectOf(proxy, costs),
    own: personsHands(hands, path),
    async close() {
      await proxy.close();
      for (const calendar of await hands.calendars()) if (!before.has(calendar)) await hands.send('DELETE', calendar);
    },
  };
}

/** Basic authentication, which never needs a renewal. */
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

function serverOf(hands: DavHands, path: string, proxyUrl: string): ContractServer {
  const pathOf = (remoteId: string) => pathIn(path, remoteId);
  const change = (remoteId: string, edit: (event: ICAL.Component) => void) => hands.change(pathOf(remoteId), edit);
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
    loseMarks: (remoteId) =>
      change(remoteId, (event) => {
        for (const property of [...event.getAllProperties()])
          if (property.name.startsWith('x-clinic-mirror')) event.removeProperty(property);
      }),
    async renameByHand(remoteId) {
      const name = `${randomUUID()}.ics`;
      await hands.move(pathOf(remoteId), `${path}${name}`);
      return name;
    },
    async putForeign(title, key) {
      const uid = key ?? `foreign-${randomUUID()}`;
      await hands.put(pathOf(uid), foreignEvent(uid, title));
      return remoteIdOf(`${uid}.ics`);
    },
    containers: async () => (await hands.calendars()).map((calendar) => `${proxyUrl}${calendar}`),
    async deleteContainer(container) {
      await hands.send('DELETE', new URL(container).pathname);
    },
    mails: () => null,
  };
}

function pathIn(calendar: string, remoteId: string): string {
  return `${calendar}${/\.ics$/.test(remoteId) ? remoteId : `${remoteId}.ics`}`;
}

/** A user whose client writes a colour, one reminder, a description and attendees. */
function personsHands(hands: DavHands, calendar: string): PersonsHands {
  return {
    guests: 'kept',
    labels: [
      [{ colour: 'red', category: 'Surgery' }, 'red'],
      [{ colour: 'green', category: 'Check-up' }, 'green'],
    ],
    set: (id, { colour, reminderMinutes, note, guests }) =>
      hands.change(pathIn(calendar, id), (event) => {
        if (colour !== undefined) setText(event, 'color', colour);
        if (note !== undefined) setText(event, 'description', note);
        if (reminderMinutes !== undefined) setReminder(event, reminderMinutes);
        if (guests === undefined) return;
        event.removeAllProperties('attendee');
        for (const guest of guests) event.addPropertyWithValue('attendee', `mailto:${guest}`);
      }),
    async shown(id) {
      const event = eventOf(ICAL.Component.fromString(await (await hands.send('GET', pathIn(calendar, id))).text()));
      const [alarm] = event.getAllSubcomponents('valarm');
      const trigger = alarm?.getFirstPropertyValue('trigger');
      return {
        colour: event.getFirstPropertyValue('color')?.toString() ?? '',
        reminderMinutes: trigger instanceof ICAL.Duration ? -trigger.toSeconds() / 60 : null,
        note: event.getFirstPropertyValue('description')?.toString() ?? '',
        guests: event.getAllProperties('attendee').map((one) => String(one.getFirstValue()).replace('mailto:', '')),
      };
    },
  };
}

function setText(event: ICAL.Component, name: string, text: string): void {
  event.removeAllProperties(name);
  if (text !== '') event.addPropertyWithValue(name, text);
}

function setReminder(event: ICAL.Component, minutes: number | null): void {
  event.removeAllSubcomponents('valarm');
  if (minutes === null) return;
  const alarm = new ICAL.Component('valarm');
  alarm.addPropertyWithValue('action', 'DISPLAY');
  alarm.addPropertyWithValue('description', 'Soon');
  alarm.addPropertyWithValue('trigger', ICAL.Duration.fromSeconds(-60 * minutes));
  event.addSubcomponent(alarm);
}

function remoteIdOf(name: string): ItemKey {
  return name.replace(/^([0-9a-v]{32})\.ics$/, '$1');
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
  const remoteId = remoteIdOf(path.slice(path.lastIndexOf('/') + 1));
  return { ...shownEvent(calendar, eventOf(calendar)), remoteId, version: response.headers.get('etag') ?? '' };
}

/** Returns an event as a reader of the calendar sees it. */
export function shownEvent(
  calendar: ICAL.Component,
  event: ICAL.Component,
): Omit<RemoteObject, 'remoteId' | 'version'> {
  const text = (name: string) => event.getFirstPropertyValue(name)?.toString() ?? null;
  const start = event.getFirstPropertyValue('dtstart') as ICAL.Time;
  const end = event.getFirstPropertyValue('dtend') as ICAL.Time;
  const isAllDay = start.isDate;
  return {
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
    tentative: text('status') === 'TENTATIVE',
    isPrivate: text('class') === 'PRIVATE',
    attendees: event.getAllProperties('attendee').length,
    alarms: alarmsOf(event).filter((action) => action !== 'NONE').length,
    isSilenced: alarmsOf(event).includes('NONE'),
    links: ['url', 'conference'].flatMap((name) => text(name) ?? []),
    clockZone: isAllDay ? null : tzidOf(event, 'dtstart'),
  };
}

function alarmsOf(event: ICAL.Component): string[] {
  return event
    .getAllSubcomponents('valarm')
    .map((alarm) => String(alarm.getFirstPropertyValue('action')).toUpperCase());
}

/** Uses only the VTIMEZONE in the object, as a client does that knows no zone by name. */
function instantOf(calendar: ICAL.Component, event: ICAL.Component, name: string): number {
  const time = (event.getFirstPropertyValue(name) as ICAL.Time).clone();
  const zone = calendar
    .getAllSubcomponents('vtimezone')
    .find((candidate) => candidate.getFirstPropertyValue('tzid') === tzidOf(event, name));
  if (zone !== undefined) time.zone = zoneOf(zone);
  return time.toUnixTime() * 1_000;
}

/** What a zone's rules come to takes long to work out, and the product writes the same few. */
const zones = new Map<string, ICAL.Timezone>();

function zoneOf(component: ICAL.Component): ICAL.Timezone {
  const text = component.toString();
  const zone = zones.get(text) ?? new ICAL.Timezone(component);
  zones.set(text, zone);
  return zone;
}

function tzidOf(event: ICAL.Component, name: string): string | null {
  return event.getFirstProperty(name)?.getFirstParameter('tzid')?.toString() ?? null;
}

/** Number of calls that read written objects, twenty in each. */
function looks(n: number): number {
  return Math.ceil(n / caldav.supports.batchSize);
}

const CHANGES: ProxyMatch = { method: /^REPORT$/, body: /<D:sync-token>[^<]/ };

function dialectOf(proxy: FaultProxy, { givesNoTags = false, emptyReading = 0 }: DavCosts): ContractDialect {
  const writesOf = ({ key }: Operation) => ({ method: /^(PUT|DELETE)$/, url: new RegExp(key) });
  return {
    writes: { method: /^(PUT|DELETE)$/ },
    reads: { method: /^REPORT$/ },
    changes: CHANGES,
    throttled: (retryAfter) => plain(429, retryAfter === null ? {} : { 'retry-after': retryAfter }),
    unauthorized: () => plain(401, { 'www-authenticate': 'Basic realm="calendars"' }),
    forbidden: () => davError(403, '<d:need-privileges/>'),
    unavailable: () => plain(503),
    requestsForCreates: (n) => n + (givesNoTags ? looks(n) : 0),
    requestsForReading: (n) => (n === 0 ? 2 + emptyReading : 1 + Math.ceil(n / 50)),
    // The PUT whose answer is lost, the PUT that finds the object, and the check of the stored object.
    requestsForRetriedCreates: (n) => 3 * n,
    // The contract suite reads the calendar itself to learn each object's name.
    hideObjects: () =>
      proxy.add({
        method: /^(REPORT|GET)$/,
        times: Number.POSITIVE_INFINITY,
        fault: { kind: 'answer', answer: plain(404) },
      }),
    withUnknownFields: (answer) => ({
      ...answer,
      body: answer.body
        .toString()
        .replaceAll(/<\/((?:\w+:)?prop)>/g, '<q:new xmlns:q="urn:example">1</q:new></$1>')
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
