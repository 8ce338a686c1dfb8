import { parseJson } from '../../model/json.ts';
import type { NotificationEvent, NotificationRequest, ReadNotification } from '../connector.ts';
import { notificationSchema, notificationsSchema } from './schemas.ts';

/** Lifecycle events (learn.microsoft.com/graph/change-notifications-lifecycle-events). */
const LIFECYCLE: ReadonlyMap<string, NotificationEvent> = new Map([
  ['reauthorizationRequired', 'extend'],
  ['subscriptionRemoved', 'ended'],
  ['missed', 'missed'],
] as const);

/**
 * Reads what Graph posts: the check of an address, which wants its decoded token back
 * (learn.microsoft.com/graph/change-notifications-delivery-webhooks), or notifications, several in a body.
 */
export function readGraphNotification({ query, body }: NotificationRequest): ReadNotification {
  const validationToken = query.get('validationToken');
  if (validationToken) return { kind: 'handshake', answer: validationToken };
  const parsed = notificationsSchema.safeParse(parseJson(body));
  const events = parsed.success ? parsed.data.value.flatMap(readOne) : [];
  return events.length === 0 ? { kind: 'unreadable' } : { kind: 'events', events };
}

/** One notification; none for what is odd, carries no secret, or tells of a lifecycle event that we don't know. */
function readOne(element: unknown): { secret: string; event: NotificationEvent }[] {
  const notification = notificationSchema.safeParse(element);
  if (!notification.success) return [];
  const { clientState: secret, changeType, lifecycleEvent } = notification.data;
  const event = lifecycleEvent ? LIFECYCLE.get(lifecycleEvent) : changeType ? 'changed' : undefined;
  return event === undefined ? [] : [{ secret, event }];
}
