import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import { pathSegment } from '../../core/model/path-segment.ts';
import type { Clock, Instant } from '../../core/model/time.ts';
import type {
  NotificationEvent,
  NotificationRequest,
  ReadNotification,
  Subscription,
  SubscriptionRequest,
  Subscriptions,
} from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import type { GraphCall } from './client.ts';
import { errors, isGone, notificationsRefused } from './errors.ts';
import { OLDER_SUBSCRIPTION_LIFE_MS, SUBSCRIPTION_LIFE_MS } from './limits.ts';
import { subscriptionResource, walkLists } from './paths.ts';
import { notificationSchema, notificationsSchema, subscriptionSchema } from './schemas.ts';

interface SubscriptionParts {
  /** Sends one call with authorization. Metrics use `label`. */
  call(label: string, call: GraphCall, signal: AbortSignal): Promise<WireResponse>;
  mailbox: string;
  clock: Clock;
}

interface GraphSubscription {
  id: string;
  expiresAt: Instant;
  resource: string;
  notificationUrl: string;
}

const PATH = '/subscriptions';

/** Manages subscriptions to the events of one calendar (learn.microsoft.com/graph/api/resources/subscription). */
export function createGraphSubscriptions(parts: SubscriptionParts): Subscriptions {
  return {
    async open(container, request, signal) {
      const { id: handle, expiresAt } = await subscribe(parts, container, request, signal).catch((error: unknown) =>
        adopt(parts, request, asMirrorError(error), signal),
      );
      return { id: request.id, handle, expiresAt };
    },
    async extend(subscription, expiresAt, signal) {
      const answer = await withLife(parts, expiresAt, (expirationDateTime) =>
        parts.call(
          'graph.subscriptions.update',
          { method: 'PATCH', path: pathOf(subscription), body: { expirationDateTime } },
          signal,
        ),
      );
      if (isGone(answer)) return null;
      return { ...subscription, expiresAt: readSubscription(answer).expiresAt };
    },
    async close(subscription, signal) {
      await remove(parts, pathOf(subscription), signal);
    },
  };
}

function pathOf({ handle }: Pick<Subscription, 'handle'>): string {
  return `${PATH}/${pathSegment(handle)}`;
}

/**
 * Subscribes to a calendar. Graph allows one subscription per calendar and connection, so a lost subscription of clinic-mirror blocks a new
 * one.
 */
async function subscribe(
  parts: SubscriptionParts,
  container: string,
  request: SubscriptionRequest,
  signal: AbortSignal,
): Promise<GraphSubscription> {
  const resource = subscriptionResource(parts.mailbox, container);
  const create = () =>
    withLife(parts, request.expiresAt, (expirationDateTime) => {
      const body = {
        changeType: 'created,updated,deleted',
        resource,
        notificationUrl: request.address,
        lifecycleNotificationUrl: request.address,
        expirationDateTime,
        clientState: request.secret,
      };
      return parts.call('graph.subscriptions.create', { method: 'POST', path: PATH, body }, signal);
    });
  let answer = await create();
  if (answer.status === 409) {
    await removeOwn(parts, resource, request.address, signal);
    answer = await create();
  }
  if (answer.status === 409) throw errors.make('notifications-taken', { status: answer.status });
  if (isGone(answer)) throw errors.make('calendar-gone', { status: answer.status });
  return readSubscription(answer);
}

/** Finds a subscription whose response was lost or unreadable, by its notification URL, which is unique to clinic-mirror. */
async function adopt(
  parts: SubscriptionParts,
  { address }: SubscriptionRequest,
  failure: MirrorError,
  signal: AbortSignal,
): Promise<GraphSubscription> {
  if (!failure.ambiguous && failure.actor !== 'contract') throw failure;
  const all = await list(parts, signal).catch(() => []);
  const lost = all.find(({ notificationUrl }) => notificationUrl === address);
  if (lost === undefined) throw failure;
  return lost;
}

/** Removes this installation's subscriptions to the calendar, found by their notification URLs. */
async function removeOwn(parts: SubscriptionParts, resource: string, address: string, signal: AbortSignal) {
  const ours = address.slice(0, address.lastIndexOf('/') + 1);
  for (const other of await list(parts, signal)) {
    if (!other.notificationUrl.startsWith(ours) || !isSameCalendar(other.resource, resource)) continue;
    await remove(parts, pathOf({ handle: other.id }), signal);
  }
}

/** Compares the calendar ids of two resources: the id is the last but one segment, with any mailbox name. Ids are case-sensitive. */
function isSameCalendar(one: string, other: string): boolean {
  const calendarOf = (resource: string) => decode(resource.split('/').at(-2) ?? '');
  return calendarOf(one) === calendarOf(other);
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function remove({ call }: SubscriptionParts, path: string, signal: AbortSignal): Promise<void> {
  const answer = await call('graph.subscriptions.delete', { method: 'DELETE', path }, signal);
  if (!isSuccess(answer) && !isGone(answer)) throw errors.of(answer);
}

/** Lists all subscriptions of this application and connection, without invalid ones. */
async function list({ call }: SubscriptionParts, signal: AbortSignal): Promise<GraphSubscription[]> {
  const ask = (path: string) => call('graph.subscriptions.list', { method: 'GET', path }, signal);
  const elements = (await Array.fromAsync(walkLists(PATH, ask, errors.of))).flat();
  return elements.flatMap((element) => subscriptionSchema.safeParse(element).data ?? []);
}

/** Requests the desired lifetime within Graph's limit. If Graph refuses that limit, requests the older limit. */
async function withLife(
  { clock }: SubscriptionParts,
  expiresAt: Instant,
  send: (expirationDateTime: string) => Promise<WireResponse>,
): Promise<WireResponse> {
  const now = clock();
  const upTo = (lifeMs: number) => new Date(Math.min(expiresAt, now + lifeMs)).toISOString();
  const answer = await send(upTo(SUBSCRIPTION_LIFE_MS));
  const isTooLong = answer.status === 400 && expiresAt > now + OLDER_SUBSCRIPTION_LIFE_MS;
  return isTooLong ? send(upTo(OLDER_SUBSCRIPTION_LIFE_MS)) : answer;
}

function readSubscription(answer: WireResponse): GraphSubscription {
  if (!isSuccess(answer)) throw notificationsRefused(answer);
  return parsedBy(errors, subscriptionSchema, answer.body, { ambiguous: true });
}

/** Lifecycle events (learn.microsoft.com/graph/change-notifications-lifecycle-events). */
const LIFECYCLE: ReadonlyMap<string, NotificationEvent> = new Map([
  ['reauthorizationRequired', 'extend'],
  ['subscriptionRemoved', 'ended'],
  ['missed', 'missed'],
] as const);

/**
 * Parses a request of Graph: the check of a notification URL, which expects the decoded token in the response
 * (learn.microsoft.com/graph/change-notifications-delivery-webhooks), or one or more notifications.
 */
export function readGraphNotification({ query, body }: NotificationRequest): ReadNotification {
  const validationToken = query.get('validationToken');
  if (validationToken) return { kind: 'handshake', answer: validationToken };
  const parsed = notificationsSchema.safeParse(parseJson(body));
  const events = parsed.success ? parsed.data.value.flatMap(readOne) : [];
  return events.length === 0 ? { kind: 'unreadable' } : { kind: 'events', events };
}

/** Parses one notification. Returns an empty list if the notification is invalid, has no secret, or has an unknown lifecycle event. */
function readOne(element: unknown): { secret: string; event: NotificationEvent }[] {
  const notification = notificationSchema.safeParse(element);
  if (!notification.success) return [];
  const { clientState: secret, changeType, lifecycleEvent } = notification.data;
  const event = lifecycleEvent ? LIFECYCLE.get(lifecycleEvent) : changeType ? 'changed' : undefined;
  return event === undefined ? [] : [{ secret, event }];
}
