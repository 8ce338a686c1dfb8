import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import type { TimeWindow } from '../../model/time.ts';
import { withLogin } from '../batches.ts';
import type { Connector, ConnectorContext } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { type FlowVendor, findByFlows, flowConnector } from '../flow.ts';
import { isSuccess, type WireResponse, walkPages } from '../wire.ts';
import { readChanges } from './changes.ts';
import { type CalendarClient, type CallOptions, createCalendarClient } from './client.ts';
import { type ContainerCalls, openCalendars } from './container.ts';
import { errors } from './errors.ts';
import { type FlowScope, findFlow, operationFlow, pageFlow } from './flows.ts';
import { readOwnEvent, toRemoteItem } from './from-model.ts';
import { eventsPageSchema, type GoogleCalendarSettings } from './schemas.ts';
import { createGoogleSubscriptions } from './subscriptions.ts';
import { createBatchTransport } from './transport.ts';

/** Opens one Google calendar target. */
export function openGoogleCalendar(context: ConnectorContext<GoogleCalendarSettings>): Connector {
  const { settings, ownerTag, owner = null, authorizer, http, clock } = context;
  const { rootUrl } = settings;
  const client = createCalendarClient(http, clock, rootUrl, authorizer.quotaUser);
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
    const events = page.flatMap((event) => readOwnEvent(event, ownerTag) ?? []);
    const alive = events.filter((event) => !event.cancelled);
    if (alive.length > 0) yield alive.map(toRemoteItem);
  }
}
