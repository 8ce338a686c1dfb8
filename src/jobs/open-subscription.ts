import { randomBytes } from 'node:crypto';
import type { Subscription, Subscriptions } from '../connectors/connector.ts';
import { DAY_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { type StoredSubscription, type SubscriptionAddressee, subscriptionSecretHash } from '../state/subscriptions.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Path of the receiver, below the public address; connector and subscription id follow. */
export const NOTIFICATIONS_PATH = '/notifications';

/**
 * What is asked for. Every limit that Graph has had allows it (4,230 minutes, later 10,080;
 * https://learn.microsoft.com/graph/api/resources/subscription), so does Google's (seven days,
 * https://developers.google.com/workspace/calendar/api/guides/push). It bounds how long a subscription lives that we lost sight of.
 */
export const CHANNEL_LIFE_MS = 2 * DAY_MS;
/** How long the vendor may check the address of a subscription that it was asked for. */
const OPENING_MS = 10 * MINUTE_MS;

/** A calendar that we want to be told of, and everybody who writes to it. */
export interface HeardCalendar {
  /** The first of them: the subscription is kept under its name. */
  target: OpenTarget;
  container: string;
  targets: string[];
}

/**
 * Opens a subscription under a new id and secret, of which only a hash is kept. The receiver knows it before the vendor does.
 * @param heardSinceAt since when the calendar is heard of, by this subscription or the one before
 * @throws MirrorError as the connector does
 */
export async function openSubscription(
  tenant: Pick<OpenTenant, 'clock' | 'id' | 'notifications'>,
  { target, container, targets }: HeardCalendar,
  heardSinceAt: Instant,
  signal: AbortSignal,
): Promise<StoredSubscription> {
  const { directory } = tenant.notifications;
  const now = tenant.clock();
  const { connector, connection, settings } = target.configuration;
  const id = randomBytes(16).toString('hex');
  const secret = randomBytes(32).toString('base64url');
  const address = addressOf(tenant, connector, id);
  const addressee: SubscriptionAddressee = {
    tenant: tenant.id,
    connector,
    targets,
    secretHash: subscriptionSecretHash(secret),
    isOpening: true,
    asked: null,
  };
  await directory.put(id, addressee, now + OPENING_MS);
  try {
    const request = { id, secret, address, expiresAt: now + CHANNEL_LIFE_MS };
    const opened = await subscriptionsOf(target).open(container, request, signal);
    await directory.put(id, { ...addressee, isOpening: false }, opened.expiresAt);
    const { handle } = opened;
    return { id, connector, connection, settings, container, address, handle, heardSinceAt, ...lifeOf(opened, now) };
  } catch (error) {
    await directory.remove(id);
    throw error;
  }
}

/** When it ends and is renewed: after half of what the vendor gave, so that there is time for many tries. */
export function lifeOf({ expiresAt }: Subscription, now: Instant): Pick<StoredSubscription, 'renewAt' | 'expiresAt'> {
  return { renewAt: now + (expiresAt - now) / 2, expiresAt };
}

/** Ends a subscription. Its hints count no more, whatever the vendor says. @throws MirrorError as the connector does */
export async function closeSubscription(
  tenant: Pick<OpenTenant, 'notifications'>,
  subscription: StoredSubscription,
  signal: AbortSignal,
): Promise<void> {
  await tenant.notifications.directory.remove(subscription.id);
  await tenant.notifications.subscriptionsOf(subscription)?.close(subscription, signal);
}

/** The notifications of a target whose connector has them. */
export function subscriptionsOf({ id, connector }: OpenTarget): Subscriptions {
  if (connector.subscriptions === undefined) throw new Error(`the connector of "${id}" has no notifications`);
  return connector.subscriptions;
}

/** What a vendor is to post to: nothing in it tells whose calendar it is about. */
export function addressOf({ notifications }: Pick<OpenTenant, 'notifications'>, connector: string, id: string): string {
  return `${notifications.url}${NOTIFICATIONS_PATH}/${connector}/${id}`;
}
