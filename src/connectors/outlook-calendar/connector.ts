import type { RemoteItem } from '../../model/operations.ts';
import type { TimeWindow } from '../../model/time.ts';
import { withLogin } from '../batches.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { type FlowVendor, findByFlows, flowConnector } from '../flow.ts';
import { Mutex } from '../mutex.ts';
import type { WireResponse } from '../wire.ts';
import { readChanges, readFlow } from './changes.ts';
import { createGraphClient, type GraphCall } from './client.ts';
import { openCalendars } from './container.ts';
import { errors, isGone } from './errors.ts';
import { eventsPath, type FlowScope, findFlow, operationFlow, pageFlow } from './flows.ts';
import { readOwnEvent, toRemoteItem, UTC } from './from-model.ts';
import { DELTA_PAGE_SIZE, PROPERTIES } from './limits.ts';
import { eventsQuery, mailboxPath, walkLists, withQuery } from './paths.ts';
import type { OutlookCalendarSettings } from './schemas.ts';
import { createGraphSubscriptions } from './subscriptions.ts';
import { createBatchTransport } from './transport.ts';

/** Opens one Outlook calendar target. */
export function openOutlookCalendar(context: ConnectorContext<OutlookCalendarSettings>): Connector {
  const { settings, ownerTag, owner = null, authorizer, http, shared, clock } = context;
  const { rootUrl, mailbox, deleteMode, wholeDayZone = context.zone ?? UTC } = settings;
  const refusedZones = new Set<string>();
  // Outlook works on four requests of a mailbox at once, as many as one batch fills. Whose mailbox `me` is only the login knows.
  const turns = shared.of(Mutex, mailbox === 'me' ? authorizer : `${rootUrl} ${mailbox.toLowerCase()}`);
  const sendCall = createGraphClient({ http, clock, rootUrl });
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
  const query = eventsQuery(PROPERTIES.ownerTag, scope.ownerTag, window === null ? [] : overlaps(window));
  const refused = (answer: WireResponse) =>
    isGone(answer) ? errors.make('calendar-gone', { status: answer.status }) : errors.of(answer);
  for await (const page of walkLists(withQuery(eventsPath(scope), query), list, refused)) {
    const events = page.flatMap((event) => readOwnEvent(event, scope.ownerTag, scope.wholeDayZone) ?? []);
    if (events.length > 0) yield events.map(toRemoteItem);
  }
}

/** Conditions on the times of an event, which are compared in UTC. */
function overlaps({ fromAt, toAt }: TimeWindow): string[] {
  const inUtc = (at: number) => new Date(at).toISOString().slice(0, 19);
  return [`start/dateTime lt '${inUtc(toAt)}'`, `end/dateTime gt '${inUtc(fromAt)}'`];
}
