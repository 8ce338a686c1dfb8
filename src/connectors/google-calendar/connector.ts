import { z } from 'zod';
import type { CalendarItem } from '../../core/model/items.ts';
import type { ItemKey, RemoteItem } from '../../core/model/operations.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import type { RemoteChanges } from '../../engine/ports.ts';
import { message, render } from '../../messages/message.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { fromCursor, readFeed } from '../cursor.ts';
import { parsedBy } from '../errors.ts';
import { type FlowVendor, findByFlows, flowConnector, withLogin } from '../flow.ts';
import { type Calendars, type ListedCalendar, lowestMarked, type Owner, ownerText } from '../owner.ts';
import { isSuccess, readEach, type WireResponse, walkPages } from '../wire.ts';
import { type CalendarClient, type CallOptions, createBatchTransport, createCalendarClient } from './client.ts';
import { errors } from './errors.ts';
import { type FlowScope, findFlow, operationFlow, pageFlow } from './flows.ts';
import { readOwnEvent, toRemoteItem } from './from-model.ts';
import { CHANGES_READ_SINGLY, MAX_FEED_PAGES } from './limits.ts';
import {
  calendarSchema,
  calendarsPageSchema,
  eventHeadSchema,
  eventsPageSchema,
  type GoogleCalendarSettings,
  listedCalendarSchema,
} from './schemas.ts';
import { createGoogleSubscriptions } from './subscriptions.ts';

/** Opens one Google calendar target. */
export function openGoogleCalendar(context: ConnectorContext<GoogleCalendarSettings>): Connector {
  const { settings, ownerTag, owner = null, authorizer, http, clock } = context;
  const { rootUrl } = settings;
  const client = createCalendarClient(http, rootUrl, authorizer.quotaUser);
  const batches = createBatchTransport({ http, authorizer, clock, rootUrl });
  const scopeOf = (calendarId: string) => ({ calendarId, ownerTag, quotaUser: authorizer.quotaUser });
  const call = (signal: AbortSignal, send: (options: CallOptions) => Promise<WireResponse>) =>
    withLogin({ authorizer, loginRefused: errors.of }, signal, (authorization) => send({ authorization, signal }));
  const calendarsOf = (signal: AbortSignal) => openCalendars(containerCalls(client, call, signal), ownerTag, owner);
  const read = (container: string, window: TimeWindow | null, signal: AbortSignal) =>
    readPages(
      (pageToken) =>
        call(signal, (options) => client.listEvents({ calendarId: container, ownerTag, window, pageToken }, options)),
      ownerTag,
    );
  const find = async (container: string, keys: readonly ItemKey[], signal: AbortSignal) => {
    const flows = keys.map((key) => findFlow(scopeOf(container), key));
    return findByFlows(flows, batches(signal));
  };
  const vendor: FlowVendor<FlowScope> = {
    errors,
    scopeOf,
    batches,
    calendarsOf,
    operationFlow,
    findFlow,
    pageFlow,
    read,
    changes(container, { cursor, window }, signal) {
      const list = (syncToken: string | null, pageToken: string | null) =>
        call(signal, (options) => client.listChanges({ calendarId: container, syncToken, pageToken }, options));
      const readAll = () => read(container, window, signal);
      return readChanges({ ownerTag, list, readAll, find: (keys) => find(container, keys, signal) }, container, cursor);
    },
    subscriptions: createGoogleSubscriptions(client, call),
  };
  return flowConnector(vendor, settings.calendar);
}

type Call = (signal: AbortSignal, send: (options: CallOptions) => Promise<WireResponse>) => Promise<WireResponse>;

function containerCalls(client: CalendarClient, call: Call, signal: AbortSignal): ContainerCalls {
  return {
    get: (id) => call(signal, (options) => client.getCalendar(id, options)),
    insert: (content) => call(signal, (options) => client.insertCalendar(content, options)),
    list: (pageToken) => call(signal, (options) => client.listCalendars(pageToken, options)),
  };
}

async function* readPages(
  list: (pageToken: string | null) => Promise<WireResponse>,
  ownerTag: string,
): AsyncGenerator<RemoteItem[]> {
  const ask = async (pageToken: string | null) => {
    const answer = await list(pageToken);
    if (answer.status === 404) throw errors.make('calendar-gone', { status: 404 });
    if (!isSuccess(answer)) throw errors.of(answer);
    const { items: page, nextPageToken: next } = parsedBy(errors, eventsPageSchema, answer.body);
    return { page, next };
  };
  for await (const page of walkPages(null, ask, () => errors.make('unexpected-answer'))) {
    const alive = await readEach(page, (event) => {
      const own = readOwnEvent(event, ownerTag);
      return own === null || own.cancelled ? null : toRemoteItem(own);
    });
    if (alive.length > 0) yield alive;
  }
}

/** Calls for finding or creating the calendar, authorization included. */
interface ContainerCalls {
  get(id: string): Promise<WireResponse>;
  insert(content: { summary: string; description: string }): Promise<WireResponse>;
  list(pageToken: string | null): Promise<WireResponse>;
}

/** Gives access to the account's calendars. */
export function openCalendars(calls: ContainerCalls, ownerTag: string, owner: Owner | null): Calendars {
  const list = () => listCalendars(calls, ownerTag);
  return {
    errors,
    owner,
    find: (id) => findCalendar(calls, id),
    list,
    create: async (summary) => {
      const id = await insertCalendar(calls, summary, ownerTag, owner);
      return lowestMarked(await list()) ?? id;
    },
  };
}

/**
 * Google cannot create a calendar conditionally. Two workers that create a calendar at once both see two calendars and agree on the lowest
 * id. An operator must remove the other, empty calendar.
 */
async function insertCalendar(calls: ContainerCalls, summary: string, ownerTag: string, owner: Owner | null) {
  const answer = await calls.insert({ summary, description: descriptionWith(ownerTag, owner) });
  if (!isSuccess(answer)) throw errors.of(answer);
  return parsedBy(errors, calendarSchema, answer.body, { ambiguous: true }).id;
}

/** Fetches the calendar with this id, or null if no calendar has the id. */
async function findCalendar(calls: ContainerCalls, id: string): Promise<string | null> {
  const answer = await calls.get(id);
  if (answer.status === 404 || answer.status === 410) return null;
  if (!isSuccess(answer)) throw errors.of(answer);
  return parsedBy(errors, calendarSchema, answer.body).id;
}

async function listCalendars(calls: ContainerCalls, ownerTag: string): Promise<ListedCalendar[]> {
  const ask = async (pageToken: string | null) => {
    const answer = await calls.list(pageToken);
    if (!isSuccess(answer)) throw errors.of(answer);
    const { items, nextPageToken: next } = parsedBy(errors, calendarsPageSchema, answer.body);
    return { page: await readEach(items, (calendar) => parsedBy(errors, listedCalendarSchema, calendar)), next };
  };
  const entries = (await Array.fromAsync(walkPages(null, ask, () => errors.make('unexpected-answer')))).flat();
  const account = entries.find(({ primary }) => primary === true)?.id ?? null;
  return entries.map(({ id, description, accessRole = 'owner', dataOwner = account }) => ({
    id,
    isMarked: description?.includes(markLine(ownerTag)) === true,
    isOfAnother: accessRole !== 'owner' || (account !== null && dataOwner !== account),
    ownerText: description,
  }));
}

function descriptionWith(ownerTag: string, owner: Owner | null): string {
  const lines = [render(message('google.calendar-description')), markLine(ownerTag)];
  return [...lines, ...(owner === null ? [] : [ownerText(owner)])].join('\n');
}

function markLine(ownerTag: string): string {
  return `[clinic-mirror ${ownerTag}]`;
}

/** Calls and settings for fetching the changes of one target. */
interface ChangesCalls {
  ownerTag: string;
  /** Fetches one page of the feed, or of the pages before its start. */
  list(syncToken: string | null, pageToken: string | null): Promise<WireResponse>;
  /** Fetches all own events in the window, in pages. */
  readAll(): AsyncIterable<RemoteItem[]>;
  /** Fetches the existing own events among the keys. */
  find(keys: readonly ItemKey[]): Promise<RemoteItem[]>;
}

/** Sync token of Google. */
const positionSchema = z.string().min(1);

/**
 * Fetches the changes since a cursor by sync token (developers.google.com/workspace/calendar/api/guides/sync). Google cannot filter the
 * feed, so the feed request asks only for owner tags; own events are fetched afterwards. Without a token that Google accepts, fetches all
 * own events.
 * @throws MirrorError a failed page ends the fetch without a cursor
 */
export async function readChanges(
  calls: ChangesCalls,
  container: string,
  cursor: string | null,
): Promise<RemoteChanges<CalendarItem>> {
  return await readFeed(container, fromCursor(container, cursor, positionSchema), {
    mostIds: CHANGES_READ_SINGLY,
    follow: (syncToken) => follow(calls, syncToken),
    readEach: calls.find,
    readAll: calls.readAll,
  });
}

/** Result of one pass through the feed, by id. If the feed lists an event twice, the last state applies. */
interface Feed {
  ids: ItemKey[];
  /** Ids of events that are cancelled or carry no owner tag of this target. */
  others: string[];
  next: string | null;
}

/** Follows the feed to its end. Returns null if Google rejects the token or provides none, or if the feed does not end. */
async function follow({ list, ownerTag }: ChangesCalls, syncToken: string | null): Promise<Feed | null> {
  const isOurs = new Map<string, boolean>();
  let pageToken: string | null = null;
  for (let count = 0; count < MAX_FEED_PAGES; count += 1) {
    const answer = await list(syncToken, pageToken);
    if (syncToken !== null && (answer.status === 410 || answer.status === 400)) return null;
    if (answer.status === 404) throw errors.make('calendar-gone', { status: 404 });
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = parsedBy(errors, eventsPageSchema, answer.body);
    await readEach(page.items, (event) => {
      const head = eventHeadSchema.safeParse(event);
      if (head.success) isOurs.set(head.data.id, readOwnEvent(event, ownerTag)?.cancelled === false);
      return null;
    });
    pageToken = page.nextPageToken ?? null;
    if (pageToken !== null) continue;
    const [ids, others] = [true, false].map((ours) => [...isOurs.keys()].filter((id) => isOurs.get(id) === ours));
    return { ids: ids!, others: others!, next: page.nextSyncToken ?? null };
  }
  return null;
}
