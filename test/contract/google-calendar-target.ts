import { type EventResource, type GoogleSandbox, startGoogleSandbox } from '../../sandbox/google/index.ts';
import {
  type FaultProxy,
  type ProxiedAnswer,
  type ProxyMatch,
  startFaultProxy,
} from '../../sandbox/kit/fault-proxy.ts';
import { googleCalendar } from '../../src/connectors/google-calendar/index.ts';
import { readGoogleNotification } from '../../src/connectors/google-calendar/subscriptions.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Operation } from '../../src/core/model/operations.ts';
import type { OwnTarget, PersonsHands } from './cases/persons-own.ts';
import type { ContractDialect, ContractServer, RemoteObject } from './contract-target.ts';

const ACCOUNT = 'doctor@clinic.example';
const BATCH_SIZE = 50;
const PAGE_SIZE = 2_500;

/** The Google sandbox behind the proxy, with one empty calendar whose zone is neither the clinic's nor UTC. */
export async function openGoogleTarget(): Promise<OwnTarget & { sandbox: GoogleSandbox }> {
  const sandbox = await startGoogleSandbox({ quotaPerUserPerMinute: 10_000 });
  const proxy = await startFaultProxy(sandbox.calendarApiUrl);
  sandbox.addAccount(ACCOUNT);
  const container = sandbox.createCalendar(ACCOUNT, 'Appointments of the clinic', 'America/Los_Angeles');
  const header = async () => `Bearer ${sandbox.issueAccessToken(ACCOUNT)}`;
  const authorizer = { header, renew: header, quotaUser: null };
  return {
    supports: googleCalendar.supports,
    container,
    authorizer,
    open: ({ createCalendar, ...worker }) =>
      googleCalendar.open({
        ...worker,
        clock: Date.now,
        settings: googleCalendar.settingsSchema.parse({
          calendar: createCalendar === null ? { id: container } : { create: createCalendar },
          rootUrl: proxy.url,
        }),
      }),
    proxy,
    server: serverVerbs(sandbox, container, await header()),
    dialect: dialectOf(sandbox, proxy),
    charged: () => sandbox.counts.quotaUnits,
    readNotification: readGoogleNotification,
    own: personsHands(sandbox, container),
    sandbox,
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

function serverVerbs(sandbox: GoogleSandbox, calendarId: string, authorization: string): ContractServer {
  return {
    objects: async (container = calendarId) => sandbox.events(container).map(toRemoteObject),
    editByHand: async (id, { title }) => void sandbox.editByHand(calendarId, id, { summary: title }),
    deleteByHand: async (id) => sandbox.deleteByHand(calendarId, id),
    removeMarkByHand: async (id) =>
      void sandbox.editByHand(calendarId, id, { extendedProperties: { private: { clinicMirror: null } } }),
    async loseMarks(id) {
      const names = ['', 'Locator', 'Revision', 'Notes', 'Presets'].map((name) => [`clinicMirror${name}`, null]);
      sandbox.editByHand(calendarId, id, { extendedProperties: { private: Object.fromEntries(names) } });
    },
    putForeign: async (title, key) => {
      const time = { dateTime: '2027-03-10T12:00:00Z' };
      const end = { dateTime: '2027-03-10T13:00:00Z' };
      return sandbox.addByHand(calendarId, { summary: title, start: time, end, ...(key ? { id: key } : {}) }).id;
    },
    async copyByHand(id) {
      const { summary, start, end, extendedProperties } = sandbox.event(calendarId, id) as EventResource & ShownEvent;
      return sandbox.addByHand(calendarId, { summary, start, end, extendedProperties }).id;
    },
    async containers() {
      const url = `${sandbox.calendarApiUrl}/calendar/v3/users/me/calendarList`;
      const list = (await (await fetch(url, { headers: { authorization } })).json()) as { items: { id: string }[] };
      return list.items.map((entry) => entry.id);
    },
    deleteContainer: async (container) => sandbox.deleteCalendar(container),
    mails: async () => sandbox.counts.mails,
    notificationsSettled: () => sandbox.notificationsSettled(),
  };
}

function personsHands(sandbox: GoogleSandbox, calendarId: string): PersonsHands {
  return {
    guests: 'kept',
    labels: [
      [{ colour: 'red' }, '11'],
      [{ colour: 'green' }, '10'],
    ],
    set: async (id, { colour, reminderMinutes, note, guests }) => {
      sandbox.editByHand(calendarId, id, {
        ...(colour === undefined ? {} : { colorId: colour || null }),
        ...(reminderMinutes === undefined ? {} : { reminders: remindersOf(reminderMinutes) }),
        ...(note === undefined ? {} : { description: note }),
        ...(guests === undefined ? {} : { attendees: guests.map((email) => ({ email })) }),
      });
    },
    shown: async (id) => {
      const event = (sandbox.event(calendarId, id) ?? {}) as ShownEvent;
      return {
        colour: event.colorId ?? '',
        reminderMinutes: event.reminders?.overrides?.[0]?.minutes ?? null,
        note: event.description ?? '',
        guests: (event.attendees ?? []).map(({ email }) => email),
      };
    },
  };
}

function remindersOf(minutes: number | null) {
  return { useDefault: false, overrides: minutes === null ? [] : [{ method: 'popup', minutes }] };
}

/** Fields of an event that the suite checks. */
interface ShownEvent {
  etag?: string;
  summary?: string;
  description?: string;
  location?: string;
  transparency?: string;
  visibility?: string;
  colorId?: string;
  source?: { url?: string };
  attendees?: { email: string }[];
  reminders?: { useDefault?: boolean; overrides?: { minutes: number }[] };
  start?: { dateTime?: string; date?: string; timeZone?: string };
  end?: { dateTime?: string; date?: string };
  extendedProperties?: { private?: Record<string, string> };
}

function toRemoteObject(event: EventResource & ShownEvent): RemoteObject {
  const properties = event.extendedProperties?.private ?? {};
  const { start = {}, end = {} } = event;
  return {
    remoteId: event.id,
    ownerTag: properties.clinicMirror ?? null,
    sealedRecordId: properties.clinicMirrorLocator ?? null,
    title: event.summary ?? '',
    description: shownText(event.description ?? ''),
    location: event.location ?? '',
    startAt: start.dateTime === undefined ? null : Date.parse(start.dateTime),
    endAt: end.dateTime === undefined ? null : Date.parse(end.dateTime),
    zone: start.timeZone ?? null,
    startDate: start.date ?? null,
    endDate: end.date ?? null,
    busy: event.transparency !== 'transparent',
    tentative: event.status === 'tentative',
    isPrivate: event.visibility === 'private',
    attendees: event.attendees?.length ?? 0,
    alarms: event.reminders?.useDefault ? 1 : (event.reminders?.overrides?.length ?? 0),
    isSilenced: false,
    links: event.source?.url === undefined ? [] : [event.source.url],
    clockZone: start.timeZone ?? null,
    version: event.etag ?? '',
  };
}

/** Returns a description, which is HTML, as a user sees it. A tag must not occur, because Google would render it. */
function shownText(html: string): string {
  if (/<|>/.test(html)) throw new Error('the description holds HTML');
  return html.replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&');
}

const WRITES: ProxyMatch = { method: /^POST$/, url: /^\/batch\//, body: /^(POST|PUT|PATCH|DELETE) \/calendar\/v3\//m };
const READS: ProxyMatch = { method: /^GET$/, url: /\/events\?(?!.*nextSyncToken).*items/ };
const OPENING: ProxyMatch = { method: /^POST$/, url: /\/events\/watch$/ };
const CHANGES: ProxyMatch = { method: /^GET$/, url: /\/events\?.*syncToken=/ };

function dialectOf(sandbox: GoogleSandbox, proxy: FaultProxy): ContractDialect {
  const rewriteAnswer = (match: ProxyMatch, answer: (answer: ProxiedAnswer, body: string) => ProxiedAnswer) =>
    proxy.add({ ...match, fault: { kind: 'rewrite', answer: (given, request) => answer(given, request.body) } });
  const shortenPages = (match: ProxyMatch, length: number) =>
    proxy.add({
      ...match,
      times: Number.POSITIVE_INFINITY,
      fault: {
        kind: 'rewrite',
        request: (request) => ({ ...request, url: request.url.replace(/maxResults=\d+/, `maxResults=${length}`) }),
      },
    });
  return {
    writes: WRITES,
    reads: READS,
    changes: CHANGES,
    opening: OPENING,
    throttled: (retryAfter) => refusal(403, 'usageLimits', 'rateLimitExceeded', retryAfter),
    unauthorized: () => refusal(401, 'global', 'authError'),
    forbidden: () => refusal(403, 'global', 'insufficientPermissions'),
    unavailable: () => refusal(503, 'global', 'backendError'),
    requestsForCreates: (n) => Math.ceil(n / BATCH_SIZE),
    // A PATCH is charged three units (reference of events.patch).
    unitsForUpdates: (n) => 3 * n,
    requestsForReading: (n) => Math.max(1, Math.ceil(n / PAGE_SIZE)),
    requestsForRetriedCreates: (n) => 3 * Math.ceil(n / BATCH_SIZE),
    hideObjects: () => void sandbox.faults.add({ match: { path: '/events' }, fault: { kind: 'status', status: 404 } }),
    withUnknownFields,
    poison: (operation) =>
      operation.kind === 'delete' ? operation : { ...operation, item: backwards(operation.item) },
    failOnce: ({ key }) =>
      void sandbox.faults.add({ match: { path: `/events/${key}` }, times: 1, fault: { kind: 'status', status: 503 } }),
    dropAnswerOf: (operation) =>
      rewriteAnswer(WRITES, (answer, body) =>
        changeParts(answer, (parts) => parts.filter((part) => !part.includes(answerIdOf(operation, body)))),
      ),
    reverseAnswers: () => rewriteAnswer(WRITES, (answer) => changeParts(answer, (parts) => parts.toReversed())),
    lowerBatchLimit: (maxBatchSize) => sandbox.configure({ maxBatchSize }),
    expireCursors: () => sandbox.expireSyncTokens(),
    changesPageLength: (length) => shortenPages(CHANGES, length),
    pageLength: (length) => shortenPages(READS, length),
    emptyFirstPage: () => sandbox.configure({ pageShape: 'empty' }),
  };
}

/** Ends before it starts: 400 timeRangeEmpty. */
function backwards(item: CalendarItem): CalendarItem {
  const time = {
    kind: 'timed',
    start: '2027-03-10T10:00:00+01:00',
    end: '2027-03-10T09:00:00+01:00',
    zone: 'Europe/Rome',
  } as const;
  return { ...item, time };
}

function refusal(status: number, domain: string, reason: string, retryAfter: string | null = null): ProxiedAnswer {
  const error = { code: status, message: reason, errors: [{ domain, reason, message: reason }] };
  return {
    status,
    headers: { 'content-type': 'application/json', ...(retryAfter === null ? {} : { 'retry-after': retryAfter }) },
    body: JSON.stringify({ error }),
  };
}

function withUnknownFields(answer: ProxiedAnswer): ProxiedAnswer {
  const page = JSON.parse(answer.body.toString()) as { items: object[] };
  const strange = { newThing: { deep: [1, null] }, colorId: 'ultraviolet', hangoutLink: 7 };
  return {
    ...answer,
    body: JSON.stringify({ ...page, ...strange, items: page.items.map((item) => ({ ...item, ...strange })) }),
  };
}

/** Changes the parts of a multipart answer; the boundary stays. */
function changeParts(answer: ProxiedAnswer, change: (parts: string[]) => string[]): ProxiedAnswer {
  const delimiter = `--${/boundary=(\S+)/.exec(answer.headers['content-type'] ?? '')?.[1]}`;
  const parts = answer.body.toString().split(delimiter).slice(1, -1);
  return {
    ...answer,
    body: `${change(parts)
      .map((part) => delimiter + part)
      .join('')}${delimiter}--\r\n`,
  };
}

/** The content id under which the answer to an operation comes. */
function answerIdOf(operation: Operation, batch: string): string {
  const part = batch.split(/^--batch_/m).find((one) => one.includes(operation.key));
  return `response-${/Content-ID: <(\d+)>/i.exec(part ?? '')?.[1]}>`;
}
