import type { NotificationEvent, NotificationRequest, ReadNotification } from '../../connectors/connector.ts';
import { type Clock, SECOND_MS } from '../../core/model/time.ts';
import {
  isSubscriptionSecret,
  type SubscriptionAddressee,
  type SubscriptionDirectory,
} from '../../tenant/subscription-store.ts';

/** A request to the notification receiver. */
export interface ReceivedNotification extends NotificationRequest {
  /** Connector in the URL, an untrusted value. */
  connector: string;
  subscriptionId: string;
}

/**
 * Result of a notification request, for metrics:
 * - `hint`: a user changed data in a target, and an audit follows
 * - `upkeep`: about the subscription, which the daemon checks
 * - `opened`: first message of a new subscription
 * - `handshake`: the vendor verified the URL of a newly requested subscription
 * - `unknown`: unknown or expired subscription, or a URL verification without a request
 * - `wrong-secret`: id of a subscription with a wrong secret
 * - `unreadable`: invalid format for the vendor
 * - `limited`: not checked, after too many unknown requests
 */
export type NotificationResult =
  | 'hint'
  | 'upkeep'
  | 'opened'
  | 'handshake'
  | 'unknown'
  | 'wrong-secret'
  | 'unreadable'
  | 'limited';

/** Parts of the receiver, supplied by `main.ts`. */
export interface ReceiverParts {
  /** Functions that parse requests, by connector with notifications. */
  readers: ReadonlyMap<string, (request: NotificationRequest) => ReadNotification>;
  directory: SubscriptionDirectory;
  /** Schedules an audit of a target; repeated calls make a single audit. */
  checkTarget(tenant: string, target: string, options: { whole: boolean }): Promise<void>;
  /** Checks the subscriptions of a tenant now. */
  renewSubscriptions(tenant: string): Promise<void>;
  /** Counts a request; `connector` is a known connector, or `none`. */
  count(connector: string, result: NotificationResult): void;
  clock: Clock;
}

/**
 * Receives vendor notifications. The answer is constant, except for the verification of a newly requested URL, so that strangers learn
 * nothing about subscriptions.
 * @returns an answer text, or null for an empty acknowledgement
 * @throws for Redis errors, so that the vendor retries
 */
export type NotificationReceiver = (received: ReceivedNotification) => Promise<string | null>;

const CHANNEL_ID = /^[0-9a-f]{32}$/;
/** Limit of lookups per second for unknown ids, in each process. Recently known ids are exempt. */
const UNKNOWN_PER_SECOND = 200;
/** Largest number of secrets checked per request. A vendor sends a single secret per subscription, so further secrets are guesses. */
const SECRETS_TRIED = 8;
/** Largest number of known ids in memory, far above the number of targets of a daemon. */
const REMEMBERED = 10_000;

/** Creates the receiver. */
export function createNotificationReceiver(parts: ReceiverParts): NotificationReceiver {
  const find = limitedFind(parts);
  return async (received) => {
    const { connector, subscriptionId } = received;
    const read = parts.readers.get(connector);
    const say = (result: NotificationResult) => parts.count(read === undefined ? 'none' : connector, result);
    const ignore = (result: NotificationResult) => {
      say(result);
      return null;
    };
    if (read === undefined) return ignore('unreadable');
    const addressee = CHANNEL_ID.test(subscriptionId) ? await find(subscriptionId) : null;
    if (addressee === 'limited') return ignore('limited');
    if (addressee === null || addressee.connector !== connector) return ignore('unknown');
    // The body of an unknown subscription is never parsed.
    const reading = read(received);
    if (reading.kind === 'unreadable') return ignore('unreadable');
    if (reading.kind === 'handshake') {
      say(addressee.isOpening ? 'handshake' : 'unknown');
      return addressee.isOpening ? reading.answer : null;
    }
    const secrets = [...new Set(reading.events.map(({ secret }) => secret))].slice(0, SECRETS_TRIED);
    const own = secrets.find((secret) => isSubscriptionSecret(secret, addressee.secretHash));
    const genuine = reading.events.filter(({ secret }) => secret === own);
    if (genuine.length < reading.events.length) say('wrong-secret');
    if (genuine.length > 0)
      say(await act(parts, subscriptionId, addressee, new Set(genuine.map(({ event }) => event))));
    return null;
  };
}

async function act(
  { directory, checkTarget, renewSubscriptions }: ReceiverParts,
  subscriptionId: string,
  addressee: SubscriptionAddressee,
  events: ReadonlySet<NotificationEvent>,
): Promise<NotificationResult> {
  const { tenant, targets } = addressee;
  // After an expired subscription, unreported changes are possible.
  const whole = events.has('missed') || events.has('ended');
  const isHint = whole || events.has('changed');
  if (isHint) for (const target of targets) await checkTarget(tenant, target, { whole });
  const asked = events.has('ended') ? 'ended' : 'extend';
  if (events.has(asked)) {
    await directory.ask(subscriptionId, addressee, asked);
    await renewSubscriptions(tenant);
  }
  if (isHint) return 'hint';
  return events.has(asked) ? 'upkeep' : 'opened';
}

/** Sends one GET per id, with a limit on new ids, so that a flood is cheap. */
function limitedFind({ directory, clock }: ReceiverParts) {
  const foundIds = new Set<string>();
  let second = 0;
  let unknown = 0;
  return async (id: string): Promise<SubscriptionAddressee | null | 'limited'> => {
    const now = Math.floor(clock() / SECOND_MS);
    if (now !== second) unknown = 0;
    second = now;
    if (!foundIds.has(id)) {
      if (unknown >= UNKNOWN_PER_SECOND) return 'limited';
      // Counted before the answer, so that parallel requests cannot bypass the limit.
      unknown += 1;
    }
    const addressee = await directory.find(id);
    if (addressee === null) {
      foundIds.delete(id);
      return null;
    }
    if (!foundIds.has(id)) {
      unknown = Math.max(0, unknown - 1);
      if (foundIds.size >= REMEMBERED) foundIds.clear();
      foundIds.add(id);
    }
    return addressee;
  };
}
