import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { Instant } from '../../core/model/time.ts';
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
import type { CalendarClient, CallOptions } from './client.ts';
import { errors, notificationsRefused } from './errors.ts';
import { channelSchema } from './schemas.ts';

/** Sends one call with authorization; see `withLogin`. */
type Call = (signal: AbortSignal, send: (options: CallOptions) => Promise<WireResponse>) => Promise<WireResponse>;

/** Google's identifiers of a channel. Stopping a channel requires both ids (reference of channels.stop). */
interface GoogleChannel {
  id: string;
  resourceId: string;
}

interface Opened extends GoogleChannel {
  expiresAt: Instant;
}

/**
 * Manages watch channels (developers.google.com/workspace/calendar/api/guides/push). Google can neither extend nor list channels. For a
 * channel whose response was lost, see {@link replaceLost}.
 */
export function createGoogleSubscriptions(client: CalendarClient, call: Call): Subscriptions {
  const watch: Watch = async (calendarId, request, signal) =>
    readOpened(
      await call(signal, async (options) => {
        const answer = await client.watchEvents({ calendarId, ...request }, options);
        // Google sends some of these refusals as 401 although the token is valid; another token does not help.
        if (errors.kindOf(answer) === 'notification-address-refused') throw errors.of(answer);
        return answer;
      }),
      request,
    );
  const stop = async (channel: GoogleChannel, signal: AbortSignal) => {
    const answer = await call(signal, (options) => client.stopChannel(channel, options));
    if (!isSuccess(answer) && answer.status !== 404) throw errors.of(answer);
  };
  return {
    async open(container, request, signal) {
      const opened = await watch(container, request, signal).catch((error: unknown) => {
        const failure = asMirrorError(error);
        if (!mayBeOpen(failure)) throw failure;
        return replaceLost({ watch, stop, signal }, container, request, failure);
      });
      return { id: request.id, handle: handleOf(opened), expiresAt: opened.expiresAt };
    },
    extend: async () => null,
    close: (channel, signal) => stop(readHandle(channel), signal),
  };
}

type Watch = (calendarId: string, request: SubscriptionRequest, signal: AbortSignal) => Promise<Opened>;
type Stop = (channel: GoogleChannel, signal: AbortSignal) => Promise<void>;

/** Google sent no response, or an unreadable response. */
function mayBeOpen(failure: MirrorError): boolean {
  return failure.ambiguous || failure.actor === 'contract';
}

/**
 * Handles a channel without a response: the channel may be open, and cannot be stopped without its resource id. A second channel on the
 * calendar has an equal resource id, so the second channel is kept and the lost channel is stopped. If the second attempt fails too, both
 * channels live until they expire.
 * @throws the first failure if there is no second channel either
 */
async function replaceLost(
  { watch, stop, signal }: { watch: Watch; stop: Stop; signal: AbortSignal },
  container: string,
  request: SubscriptionRequest,
  failure: MirrorError,
): Promise<Opened> {
  const second = await watch(container, { ...request, id: `${request.id}-2` }, signal).catch(() => {
    throw failure;
  });
  await stop({ id: request.id, resourceId: second.resourceId }, signal).catch(() => {});
  return second;
}

function readOpened(answer: WireResponse, { id, expiresAt }: SubscriptionRequest): Opened {
  if (answer.status === 404) throw errors.make('calendar-gone', { status: 404 });
  if (!isSuccess(answer)) throw notificationsRefused(answer);
  const { resourceId, expiration } = parsedBy(errors, channelSchema, answer.body, { ambiguous: true });
  return { id, resourceId, expiresAt: expiration === undefined ? expiresAt : Number(expiration) };
}

/** Channel ids of clinic-mirror contain no slash. */
function handleOf({ id, resourceId }: GoogleChannel): string {
  return `${id}/${resourceId}`;
}

function readHandle({ handle }: Subscription): GoogleChannel {
  const end = handle.indexOf('/');
  return { id: handle.slice(0, end), resourceId: handle.slice(end + 1) };
}

/**
 * Meaning of `X-Goog-Resource-State`
 * (developers.google.com/workspace/calendar/api/guides/push#understanding-the-notification-message-format).
 */
const EVENTS: ReadonlyMap<string | undefined, NotificationEvent> = new Map([
  ['sync', 'opened'],
  ['exists', 'changed'],
  ['not_exists', 'changed'],
] as const);

/** Parses the headers of a Google notification; the body is not used. A notification without a secret is rejected. */
export function readGoogleNotification({ headers }: NotificationRequest): ReadNotification {
  const event = EVENTS.get(headers['x-goog-resource-state']);
  const secret = headers['x-goog-channel-token'];
  return event === undefined || secret === undefined
    ? { kind: 'unreadable' }
    : { kind: 'events', events: [{ secret, event }] };
}
