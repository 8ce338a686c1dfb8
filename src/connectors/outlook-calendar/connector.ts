import { z } from 'zod';
import type { CalendarItem } from '../../core/model/items.ts';
import type { RemoteItem } from '../../core/model/operations.ts';
import { pathSegment } from '../../core/model/path-segment.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import type { RemoteChanges } from '../../engine/ports.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { fromCursor, readFeed } from '../cursor.ts';
import { parsedBy } from '../errors.ts';
import { type Flow, type FlowVendor, findByFlows, flowConnector, withLogin } from '../flow.ts';
import { type Calendars, type ListedCalendar, lowestMarked, type Owner, ownerText } from '../owner.ts';
import { Mutex } from '../shared-state.ts';
import { isSuccess, readEach, type WireCall, type WireResponse } from '../wire.ts';
import { createBatchTransport, createGraphClient, type GraphCall } from './client.ts';
import { codesOf, errors, isFeedRefused, isGone } from './errors.ts';
import { eventsPath, type FlowScope, findFlow, operationFlow, pageFlow, readEvent } from './flows.ts';
import { readOwnEvent, readProperties, toRemoteItem, UTC } from './from-model.ts';
import {
  CALENDARS_PAGE_SIZE,
  CHANGES_READ_SINGLY,
  DELTA_PAGE_SIZE,
  DELTA_SPARE_MS,
  EVENTS_PAGE_SIZE,
  MAX_DELTA_PAGES,
  MAX_REPEATED_PAGES,
  NAME_TRIES,
  PROPERTIES,
} from './limits.ts';
import { EVENT_QUERY, eventsQuery, expandProperties, mailboxPath, pageOf, walkLists, withQuery } from './paths.ts';
import { calendarSchema, namedSchema, type OutlookCalendarSettings } from './schemas.ts';
import { createGraphSubscriptions } from './subscriptions.ts';

/** Opens one Outlook calendar target. */
export function openOutlookCalendar(context: ConnectorContext<OutlookCalendarSettings>): Connector {
  const { settings, ownerTag, owner = null, authorizer, http, shared, clock } = context;
  const { rootUrl, mailbox, deleteMode, wholeDayZone = context.zone ?? UTC } = settings;
  const refusedZones = new Set<string>();
  // Outlook processes four requests of a mailbox at once, which one batch already uses. Only the connection shows which mailbox `me` means.
  const turns = shared.of(Mutex, mailbox === 'me' ? authorizer : `${rootUrl} ${mailbox.toLowerCase()}`);
  const sendCall = createGraphClient({ http, rootUrl });
  const batches = createBatchTransport({ http, authorizer, clock, rootUrl, turns });
  const scopeOf = (calendarId: string): FlowScope => ({
    mailboxPath: mailboxPath(mailbox),
    calendarId,
    ownerTag,
    deleteMode,
    wholeDayZone,
    refusedZones,
  });
  const call = (label: string, wire: GraphCall, signal: AbortSignal) =>
    withLogin({ authorizer, loginRefused: errors.of }, signal, (authorization) =>
      turns.run(() => sendCall(label, wire, authorization, signal), signal),
    );
  const read = (container: string, window: TimeWindow | null, signal: AbortSignal) => {
    const list = (path: string) => call('graph.events.list', { method: 'GET', path }, signal);
    return readPages(list, scopeOf(container), window);
  };
  const calendarsOf = (signal: AbortSignal) =>
    openCalendars({ call: (label, wire) => call(label, wire, signal), mailbox, ownerTag, owner });
  const vendor: FlowVendor<FlowScope> = {
    errors,
    scopeOf,
    batches,
    calendarsOf,
    operationFlow,
    findFlow,
    pageFlow,
    read,
    changes(container, query, signal) {
      const scope = scopeOf(container);
      const calls = {
        scope,
        list: (path: string) => call('graph.events.delta', { method: 'GET', path, pageSize: DELTA_PAGE_SIZE }, signal),
        readAll: () => read(container, query.window, signal),
        readEach: (ids: readonly string[]) =>
          findByFlows(
            ids.map((id) => readFlow(scope, id)),
            batches(signal),
          ),
      };
      return readChanges(calls, container, query);
    },
    subscriptions: createGraphSubscriptions({ call, mailbox, clock }),
  };
  return flowConnector(vendor, settings.calendar);
}

async function* readPages(
  list: (path: string) => Promise<WireResponse>,
  scope: FlowScope,
  window: TimeWindow | null,
): AsyncGenerator<RemoteItem[]> {
  // A filter by owner tag would hide events that lost their marks: without a window, each event is listed.
  const query =
    window === null
      ? { ...EVENT_QUERY, $top: EVENTS_PAGE_SIZE }
      : eventsQuery(PROPERTIES.ownerTag, scope.ownerTag, overlaps(window));
  const refused = (answer: WireResponse) =>
    isGone(answer) ? errors.make('calendar-gone', { status: answer.status }) : errors.of(answer);
  for await (const page of walkLists(withQuery(eventsPath(scope), query), list, refused)) {
    const items = await readEach(page, (event) => {
      const own = readOwnEvent(event, scope);
      return own === null ? null : toRemoteItem(own);
    });
    if (items.length > 0) yield items;
  }
}

/** Returns filter conditions on the event times, which Graph compares in UTC. */
function overlaps({ fromAt, toAt }: TimeWindow): string[] {
  const inUtc = (at: number) => new Date(at).toISOString().slice(0, 19);
  return [`start/dateTime lt '${inUtc(toAt)}'`, `end/dateTime gt '${inUtc(fromAt)}'`];
}

/** Sends one call for finding or creating the calendar, authorization included. Metrics use `label`. */
type ContainerCall = (label: string, call: WireCall) => Promise<WireResponse>;

interface Preparing {
  call: ContainerCall;
  mailbox: string;
  ownerTag: string;
  owner: Owner | null;
}

/** Gives access to the mailbox's calendars. */
export function openCalendars(preparing: Preparing): Calendars {
  return {
    errors,
    owner: preparing.owner,
    find: (id) => findCalendar(preparing, id),
    list: () => listCalendars(preparing),
    create: (name) => create(preparing, name),
  };
}

/**
 * Creates the calendar. Calendar names are unique within a mailbox: of two concurrent workers, Outlook refuses one, which then finds the
 * other worker's calendar. If Outlook accepts both, the workers agree on the lowest id. An operator must remove the other, empty calendar.
 */
async function create(preparing: Preparing, name: string): Promise<string> {
  for (let count = 1; count <= NAME_TRIES; count += 1) {
    const answer = await preparing.call('graph.calendars.create', {
      method: 'POST',
      path: `${mailboxPath(preparing.mailbox)}/calendars`,
      body: {
        name: count === 1 ? name : `${name} (${count})`,
        singleValueExtendedProperties: [
          { id: PROPERTIES.ownerTag, value: preparing.ownerTag },
          ...(preparing.owner === null ? [] : [{ id: PROPERTIES.owner, value: ownerText(preparing.owner) }]),
        ],
      },
    });
    const isTaken = answer.status === 409 || codesOf(answer).includes('ErrorFolderExists');
    if (!isSuccess(answer) && !isTaken) throw refusal(preparing, answer);
    const ours = lowestMarked(await listCalendars(preparing));
    if (ours !== null) return ours;
    if (isSuccess(answer)) return readId(answer, true);
  }
  throw errors.make('calendar-name-taken');
}

/** Fetches the calendar with this id, or null if no calendar has the id. */
async function findCalendar(preparing: Pick<Preparing, 'call' | 'mailbox'>, id: string): Promise<string | null> {
  const mailbox = mailboxPath(preparing.mailbox);
  const path = id === 'primary' ? `${mailbox}/calendar` : `${mailbox}/calendars/${pathSegment(id)}`;
  const answer = await preparing.call('graph.calendars.get', { method: 'GET', path });
  if (isGone(answer)) return null;
  if (!isSuccess(answer)) throw refusal(preparing, answer);
  return readId(answer, false);
}

async function listCalendars({ call, mailbox, ownerTag }: Preparing): Promise<ListedCalendar[]> {
  const entries: ListedCalendar[] = [];
  const query = { $expand: expandProperties([PROPERTIES.ownerTag, PROPERTIES.owner]), $top: CALENDARS_PAGE_SIZE };
  const ask = (path: string) => call('graph.calendars.list', { method: 'GET', path });
  const refused = (answer: WireResponse) =>
    isGone(answer) ? errors.make('mailbox-gone', { status: answer.status }) : refusal({ mailbox }, answer);
  for await (const page of walkLists(withQuery(`${mailboxPath(mailbox)}/calendars`, query), ask, refused)) {
    const calendars = await readEach(page, (calendar) => calendarSchema.safeParse(calendar).data ?? null);
    for (const { id, canShare, singleValueExtendedProperties } of calendars) {
      const properties = readProperties(singleValueExtendedProperties ?? []);
      const isMarked = properties.ownerTag === ownerTag;
      // In a foreign mailbox, no calendar can be shared, not even a calendar that clinic-mirror created.
      entries.push({ id, isMarked, isOfAnother: mailbox === 'me' && canShare === false, ownerText: properties.owner });
    }
  }
  return entries;
}

/** Graph answers `/me` with "bad request" for an application's own connection. */
function refusal({ mailbox }: Pick<Preparing, 'mailbox'>, answer: WireResponse) {
  return mailbox === 'me' && answer.status === 400 ? errors.make('mailbox-needed') : errors.of(answer);
}

function readId(answer: WireResponse, ambiguous: boolean): string {
  return parsedBy(errors, calendarSchema, answer.body, { ambiguous }).id;
}

/** Calls and settings for fetching the changes of one target. */
interface ChangesCalls {
  scope: FlowScope;
  /** Fetches one page of a delta round. */
  list(path: string): Promise<WireResponse>;
  /** Fetches all own events in the window, in pages. */
  readAll(): AsyncIterable<RemoteItem[]>;
  /** Fetches the own events among the ids that are still in the calendar. */
  readEach(ids: readonly string[]): Promise<RemoteItem[]>;
}

/** Delta link without host (the path starts at the API version), with the link's window. */
const positionSchema = z.object({ path: z.string().startsWith('/'), fromAt: z.number(), toAt: z.number() });
type Position = z.infer<typeof positionSchema>;

/**
 * Fetches the changes since a cursor by `calendarView/delta` (learn.microsoft.com/graph/api/event-delta). A delta round lists all users'
 * events, without clinic-mirror's properties, some twice. Events that only left the window are listed as removed. The round therefore only
 * selects events, which are fetched afterwards. Without a link that Graph accepts, or if the window exceeds the link's window, fetches all
 * own events.
 * @throws MirrorError a failed page ends the fetch without a cursor
 */
async function readChanges(
  calls: ChangesCalls,
  container: string,
  { cursor, window }: { cursor: string | null; window: TimeWindow },
): Promise<RemoteChanges<CalendarItem>> {
  const position = fromCursor(container, cursor, positionSchema);
  const isCovering = position !== null && position.fromAt <= window.fromAt && window.toAt <= position.toAt;
  return await readFeed(container, isCovering ? position : null, {
    mostIds: CHANGES_READ_SINGLY,
    follow: (from) => follow(calls, from ?? positionFor(calls.scope, window)),
    readEach: calls.readEach,
    readAll: calls.readAll,
  });
}

/** Fetches the current state of one event, or null if the event is foreign or no longer in the calendar. */
export function* readFlow(scope: FlowScope, id: string): Flow<RemoteItem | null> {
  const event = yield* readEvent(scope, id, null);
  return event === null ? null : toRemoteItem(event);
}

/** Returns the start of a first round. The caller's window moves forward each day, so the link's window is longer. */
function positionFor(scope: FlowScope, { fromAt, toAt }: TimeWindow): Position {
  const position = { fromAt, toAt: toAt + DELTA_SPARE_MS };
  const query = { startDateTime: inUtc(position.fromAt), endDateTime: inUtc(position.toAt) };
  const view = eventsPath(scope).replace(/events$/, 'calendarView/delta');
  return { ...position, path: withQuery(view, query) };
}

function inUtc(at: number): string {
  return new Date(at).toISOString();
}

/**
 * Follows a delta round to its end. Returns null, so that the caller lists all own events, if:
 * - Graph rejects the link.
 * - Graph has no delta for this calendar.
 * - The round does not end.
 * - A response is not a page.
 *
 * An error that affects more than the round appears again in the list. Empty pages within a round are normal
 * (github.com/microsoftgraph/msgraph-sdk-java/issues/493).
 */
async function follow(
  { list }: ChangesCalls,
  position: Position,
): Promise<{ ids: string[]; others: []; next: Position | null } | null> {
  const ids = new Set<string>();
  let path = position.path;
  let repeated = 0;
  for (let count = 0; count < MAX_DELTA_PAGES && repeated < MAX_REPEATED_PAGES; count += 1) {
    const answer = await list(path);
    if (isFeedRefused(answer)) return null;
    if (!isSuccess(answer)) throw errors.of(answer);
    const page = pageOf(answer);
    if (page === null || page.next === path) return null;
    const before = ids.size;
    await readEach(page.elements, (element) => {
      const named = namedSchema.safeParse(element);
      if (named.success) ids.add(named.data.id);
      return null;
    });
    if (page.next === null) {
      return { ids: [...ids], others: [], next: page.delta === null ? null : { ...position, path: page.delta } };
    }
    if (page.elements.length > 0) repeated = ids.size === before ? repeated + 1 : 0;
    path = page.next;
  }
  return null;
}
