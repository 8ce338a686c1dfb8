import { type GraphSandbox, type SeenEvent, startGraphSandbox } from '../../sandbox/graph/index.ts';
import {
  type FaultProxy,
  type ProxiedAnswer,
  type ProxiedRequest,
  type ProxyMatch,
  startFaultProxy,
} from '../../sandbox/kit/fault-proxy.ts';
import { outlookCalendar } from '../../src/connectors/outlook-calendar/index.ts';
import { readGraphNotification } from '../../src/connectors/outlook-calendar/subscriptions.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Operation } from '../../src/core/model/operations.ts';
import type { OwnTarget, PersonsHands } from './cases/persons-own.ts';
import type { ContractDialect, ContractServer, RemoteObject } from './contract-target.ts';

export const ACCOUNT = 'doctor@clinic.example';
const BATCH_SIZE = 20;
const PAGE_SIZE = 500;

/** Opens the Graph sandbox behind the proxy, with one empty calendar in addition to the mailbox's default. */
export async function openOutlookTarget(): Promise<OwnTarget & { sandbox: GraphSandbox }> {
  const sandbox = await startGraphSandbox();
  const proxy = await startFaultProxy(sandbox.graphUrl);
  sandbox.addMailbox(ACCOUNT);
  const container = sandbox.createCalendar(ACCOUNT, 'Appointments of the clinic');
  const header = async () => `Bearer ${sandbox.issueAccessToken(ACCOUNT)}`;
  const authorizer = { header, renew: header, quotaUser: null };
  return {
    supports: outlookCalendar.supports,
    container,
    authorizer,
    open: ({ createCalendar, ...worker }) =>
      outlookCalendar.open({
        ...worker,
        zone: 'Europe/Rome',
        clock: Date.now,
        settings: outlookCalendar.settingsSchema.parse({
          mailbox: ACCOUNT,
          calendar: createCalendar === null ? { id: container } : { create: createCalendar },
          rootUrl: proxy.url,
        }),
      }),
    proxy,
    server: serverVerbs(sandbox, container),
    dialect: dialectOf(sandbox, proxy),
    charged: () => sandbox.counts.innerCalls + sandbox.counts.httpRequests - sandbox.counts.batchRequests,
    readNotification: readGraphNotification,
    own: personsHands(sandbox),
    sandbox,
    async close() {
      await proxy.close();
      await sandbox.close();
    },
  };
}

/** The id of one of the connector's extended properties. */
export function property(name: string): string {
  return `String {9c8d4f1e-5b7a-4e0c-a3d6-2f71b86e40d5} Name ${name}`;
}

function serverVerbs(sandbox: GraphSandbox, calendar: string): ContractServer {
  return {
    objects: async (container = calendar) => sandbox.events(ACCOUNT, container).map(toRemoteObject),
    editByHand: async (id, { title }) => void sandbox.editByHand(ACCOUNT, id, { subject: title }),
    deleteByHand: async (id) => sandbox.deleteByHand(ACCOUNT, id),
    removeMarkByHand: async (id) => {
      const removed = { id: property('MirrorMark'), value: null };
      sandbox.editByHand(ACCOUNT, id, { singleValueExtendedProperties: [removed] });
    },
    async loseMarks(id) {
      const names = ['Mark', 'Key', 'Locator', 'Revision', 'Notes', 'Presets', 'Zone'];
      const removed = names.map((name) => ({ id: property(`Mirror${name}`), value: null }));
      sandbox.editByHand(ACCOUNT, id, { singleValueExtendedProperties: removed });
    },
    putForeign: async (title, key) =>
      sandbox.addByHand(ACCOUNT, calendar, {
        subject: title,
        start: { dateTime: '2027-03-10T12:00:00', timeZone: 'UTC' },
        end: { dateTime: '2027-03-10T13:00:00', timeZone: 'UTC' },
        isReminderOn: false,
        ...(key === undefined ? {} : { transactionId: key }),
      }).id,
    async copyByHand(id) {
      const { subject, start, end, singleValueExtendedProperties } = sandbox.event(ACCOUNT, id)!;
      return sandbox.addByHand(ACCOUNT, calendar, { subject, start, end, singleValueExtendedProperties }).id;
    },
    containers: async () => sandbox.calendars(ACCOUNT).map(({ id }) => id),
    deleteContainer: async (container) => sandbox.deleteCalendar(ACCOUNT, container),
    mails: async () => sandbox.counts.mails,
    notificationsSettled: () => sandbox.notificationsSettled(),
  };
}

function reminderOf(minutes: number | null) {
  return minutes === null ? { isReminderOn: false } : { isReminderOn: true, reminderMinutesBeforeStart: minutes };
}

function personsHands(sandbox: GraphSandbox): PersonsHands {
  return {
    guests: 'left-alone',
    labels: [
      [{ category: 'Surgery' }, 'Surgery'],
      [{ category: 'Check-up' }, 'Check-up'],
    ],
    set: async (id, { colour, reminderMinutes, note, guests }) => {
      sandbox.editByHand(ACCOUNT, id, {
        ...(colour === undefined ? {} : { categories: colour === '' ? [] : [colour] }),
        ...(reminderMinutes === undefined ? {} : reminderOf(reminderMinutes)),
        ...(note === undefined ? {} : { body: { contentType: 'text', content: note } }),
        ...(guests === undefined ? {} : { attendees: guests.map((address) => ({ emailAddress: { address } })) }),
      });
    },
    shown: async (id) => {
      const event = sandbox.event(ACCOUNT, id);
      return {
        colour: event?.categories[0] ?? '',
        reminderMinutes: event?.isReminderOn === true ? event.reminderMinutesBeforeStart : null,
        note: event?.body.content ?? '',
        guests: (event?.attendees ?? []).map(({ emailAddress }) => emailAddress.address),
      };
    },
  };
}

/** Outlook's names of zones, as far as the cases write in them. */
const ZONES: Readonly<Record<string, string>> = { 'W. Europe Standard Time': 'Europe/Rome' };

function toRemoteObject(event: SeenEvent): RemoteObject {
  const propertyOf = (name: string) =>
    event.singleValueExtendedProperties.find(({ id }) => id === property(name))?.value ?? null;
  const { start, end, isAllDay } = event;
  return {
    remoteId: event.id,
    ownerTag: propertyOf('MirrorMark'),
    sealedRecordId: propertyOf('MirrorLocator'),
    title: event.subject,
    description: event.body.content,
    location: event.location.displayName,
    startAt: isAllDay ? null : Date.parse(`${start.dateTime.slice(0, 19)}Z`),
    endAt: isAllDay ? null : Date.parse(`${end.dateTime.slice(0, 19)}Z`),
    zone: propertyOf('MirrorZone'),
    startDate: isAllDay ? start.dateTime.slice(0, 10) : null,
    endDate: isAllDay ? end.dateTime.slice(0, 10) : null,
    busy: event.showAs !== 'free',
    tentative: event.showAs === 'tentative',
    isPrivate: event.sensitivity === 'private',
    attendees: event.attendees.length,
    alarms: event.isReminderOn ? 1 : 0,
    isSilenced: false,
    links: [],
    clockZone: ZONES[String(event.originalStartTimeZone)] ?? String(event.originalStartTimeZone),
    version: event['@odata.etag'],
  };
}

const BATCHES: ProxyMatch = { method: /^POST$/, url: /\/\$batch$/ };
const WRITES: ProxyMatch = { ...BATCHES, body: /"method":"(POST|PATCH|DELETE)"/ };
const READS: ProxyMatch = { method: /^GET$/, url: /\/events\?.*singleValueExtendedProperties/ };
const OPENING: ProxyMatch = { method: /^POST$/, url: /\/subscriptions$/ };
const CHANGES: ProxyMatch = { method: /^GET$/, url: /\/calendarView\/delta\?/ };

function dialectOf(sandbox: GraphSandbox, proxy: FaultProxy): ContractDialect {
  return {
    writes: WRITES,
    reads: READS,
    changes: CHANGES,
    opening: OPENING,
    throttled: (retryAfter) => refusal(429, 'ApplicationThrottled', retryAfter),
    unauthorized: () => refusal(401, 'InvalidAuthenticationToken'),
    forbidden: () => refusal(403, 'ErrorAccessDenied'),
    unavailable: () => refusal(503, 'ServerBusy'),
    requestsForCreates: (n) => Math.ceil(n / BATCH_SIZE),
    requestsForReading: (n) => Math.max(1, Math.ceil(n / PAGE_SIZE)),
    requestsForRetriedCreates: (n) => 3 * Math.ceil(n / BATCH_SIZE),
    hideObjects: () => void sandbox.faults.add({ match: { path: '/events' }, fault: { kind: 'status', status: 404 } }),
    withUnknownFields,
    poison: (operation) =>
      operation.kind === 'delete' ? operation : { ...operation, item: backwards(operation.item) },
    failOnce: (operation) =>
      proxy.add({
        ...WRITES,
        fault: {
          kind: 'rewrite',
          request: (request) => changeParts(request, 'requests', (parts) => parts.filter(isNotOf(operation))),
          answer: (answer, request) => {
            const failed = { id: partOf(operation, request), status: 503, body: bodyOf('ServerBusy') };
            return changeParts(answer, 'responses', (parts) => [...parts, failed]);
          },
        },
      }),
    dropAnswerOf: (operation) =>
      proxy.add({
        ...WRITES,
        fault: {
          kind: 'rewrite',
          answer: (answer, request) =>
            changeParts(answer, 'responses', (parts) => parts.filter(({ id }) => id !== partOf(operation, request))),
        },
      }),
    reverseAnswers: () =>
      proxy.add({
        ...WRITES,
        fault: {
          kind: 'rewrite',
          answer: (answer) =>
            changeParts(answer, 'responses', (parts) =>
              parts.toSorted((one, other) => Number(other.id) - Number(one.id)),
            ),
        },
      }),
    lowerBatchLimit: (limit) =>
      proxy.add({
        ...BATCHES,
        body: new RegExp(`"id":"${limit}"`),
        times: Number.POSITIVE_INFINITY,
        fault: { kind: 'answer', answer: refusal(400, 'BadRequest') },
      }),
    expireCursors: () => sandbox.expireDeltaTokens(),
    ...pagesIn(proxy),
  };
}

/** What is done to pages on their way. */
function pagesIn(proxy: FaultProxy): Pick<ContractDialect, 'changesPageLength' | 'pageLength' | 'emptyFirstPage'> {
  return {
    changesPageLength: (length) =>
      proxy.add({
        ...CHANGES,
        times: Number.POSITIVE_INFINITY,
        fault: {
          kind: 'rewrite',
          request: (request) => ({
            ...request,
            headers: {
              ...request.headers,
              prefer: (request.headers.prefer ?? '').replace(/maxpagesize=\d+/, `maxpagesize=${length}`),
            },
          }),
        },
      }),
    pageLength: (length) =>
      proxy.add({
        ...READS,
        times: Number.POSITIVE_INFINITY,
        fault: {
          kind: 'rewrite',
          request: (request) => ({ ...request, url: request.url.replace(/\$top=\d+/, `$top=${length}`) }),
        },
      }),
    emptyFirstPage: () =>
      proxy.add({
        ...READS,
        fault: {
          kind: 'rewrite',
          answer: (answer, { url }) => {
            const page = { value: [], '@odata.nextLink': `https://graph.microsoft.com${url}&$skip=0` };
            return { ...answer, body: JSON.stringify(page) };
          },
        },
      }),
  };
}

/** Ends before it starts: 400 ErrorPropertyValidationFailure. */
function backwards(item: CalendarItem): CalendarItem {
  const time = {
    kind: 'timed',
    start: '2027-03-10T10:00:00+01:00',
    end: '2027-03-10T09:00:00+01:00',
    zone: 'Europe/Rome',
  } as const;
  return { ...item, time };
}

/** An error as Graph words it. */
export function refusal(status: number, code: string, retryAfter: string | null = null): ProxiedAnswer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...(retryAfter === null ? {} : { 'retry-after': retryAfter }) },
    body: JSON.stringify(bodyOf(code)),
  };
}

function bodyOf(code: string) {
  return { error: { code, message: code, innerError: { 'request-id': 'r-1', date: '2027-01-01T00:00:00' } } };
}

function withUnknownFields(answer: ProxiedAnswer): ProxiedAnswer {
  const page = JSON.parse(answer.body.toString()) as { value: object[] };
  const strange = { newThing: { deep: [1, null] }, importance: 'cosmic', hideAttendees: 7 };
  return {
    ...answer,
    body: JSON.stringify({ ...page, ...strange, value: page.value.map((event) => ({ ...event, ...strange })) }),
  };
}

interface Part {
  id: string;
  [field: string]: unknown;
}

/** Changes the parts of a batch, or of its answer. */
function changeParts<Message extends { body: string | Buffer }>(
  message: Message,
  name: 'requests' | 'responses',
  change: (parts: Part[]) => Part[],
): Message {
  const batch = JSON.parse(message.body.toString()) as Record<string, Part[]>;
  return { ...message, body: JSON.stringify({ ...batch, [name]: change(batch[name] ?? []) }) };
}

function isNotOf(operation: Operation): (part: Part) => boolean {
  return (part) => !JSON.stringify(part).includes(operation.key);
}

/** The id under which an operation went out. */
function partOf(operation: Operation, { body }: ProxiedRequest): string {
  const { requests } = JSON.parse(body) as { requests: Part[] };
  return requests.find((part) => !isNotOf(operation)(part))?.id ?? '';
}
