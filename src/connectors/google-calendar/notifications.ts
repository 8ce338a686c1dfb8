import type { NotificationEvent, NotificationRequest, ReadNotification } from '../connector.ts';

/** What `X-Goog-Resource-State` says (developers.google.com/workspace/calendar/api/guides/push#understanding-the-notification-message-format). */
const EVENTS: ReadonlyMap<string | undefined, NotificationEvent> = new Map([
  ['sync', 'opened'],
  ['exists', 'changed'],
  ['not_exists', 'changed'],
] as const);

/** Reads what Google posts: headers alone. What carries no secret can't be ours. */
export function readGoogleNotification({ headers }: NotificationRequest): ReadNotification {
  const event = EVENTS.get(headers['x-goog-resource-state']);
  const secret = headers['x-goog-channel-token'];
  return event === undefined || secret === undefined
    ? { kind: 'unreadable' }
    : { kind: 'events', events: [{ secret, event }] };
}
