import type { NotificationEvent, NotificationRequest, ReadNotification } from '../connectors/connector.ts';
import { type Clock, SECOND_MS } from '../model/time.ts';
import {
  isSubscriptionSecret,
  type SubscriptionAddressee,
  type SubscriptionDirectory,
} from '../state/subscriptions.ts';

/** A request that came to the receiver. */
export interface ReceivedNotification extends NotificationRequest {
  /** As the address says; anybody can write anything there. */
  connector: string;
  subscriptionId: string;
}

/**
 * What became of a request, for the metric:
 * - `hint`: somebody changed something in a target, and it will be read back;
 * - `upkeep`: about the subscription itself, which will be looked after;
 * - `opened`: the vendor's first word on a new subscription;
 * - `handshake`: the vendor checked the address of a subscription that we had just asked for;
 * - `unknown`: no such subscription, or one that has ended, or a check of an address that nobody asked for;
 * - `wrong-secret`: a subscription's id without its secret;
 * - `unreadable`: nothing that this vendor sends;
 * - `limited`: not looked up, since too many unknown ones came.
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

/** What the receiver works with; put together by `main.ts`. */
export interface ReceiverParts {
  /** How the connectors that have notifications read a request. */
  readers: ReadonlyMap<string, (request: NotificationRequest) => ReadNotification>;
  directory: SubscriptionDirectory;
  /** Has a target read back; many calls in a row make one check. */
  checkTarget(tenant: string, target: string, options: { whole: boolean }): Promise<void>;
  /** Has a tenant's subscriptions looked after now. */
  renewSubscriptions(tenant: string): Promise<void>;
  /** Counts a request; `connector` is one of ours, or `none`. */
  count(connector: string, result: NotificationResult): void;
  clock: Clock;
}

/**
 * Takes what vendors post. It says the same to everybody, save for the vendor's check of an address that we have just asked for: a
 * stranger learns nothing, not even which subscriptions there are.
 * @returns a text to answer with, or null for a bare acknowledgement
 * @throws when Redis fails: the vendor posts again
 */
export type NotificationReceiver = (received: ReceivedNotification) => Promise<string | null>;

const CHANNEL_ID = /^[0-9a-f]{32}$/;
/** Ids that nobody knows are looked up so often in a second, in each process; those that were known a while ago always are. */
const UNKNOWN_PER_SECOND = 200;
/** A vendor says one secret of a subscription, however much it puts into a request; who guesses is not heard out. */
const SECRETS_TRIED = 8;
/** Ids that are remembered as known: far more than one daemon has targets. */
const REMEMBERED = 10_000;

/** Opens the receiver. */
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
    // What a stranger posts to an address of their own making is never taken apart.
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
  // After its end nobody knows what was not told.
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

/** One GET for each id, but not for ever new ones: a flood of those costs next to nothing. */
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
      // Counted before the answer, so that many at once don't slip through.
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
