import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { type Context, calendarFor, jsonBody, textField } from './call.ts';
import { ApiError, invalid, required } from './errors.ts';
import { EVENT_READ_SCOPES } from './events.ts';
import type { Calendar, World } from './world.ts';

/** A watch on the events of one calendar. `expiresAt` is epoch ms. */
export interface Channel {
  id: string;
  resourceId: string;
  resourceUri: string;
  calendarId: string;
  address: string;
  token: string | undefined;
  expiresAt: number;
  openedBy: string;
  clientId: string;
  messageNumber: number;
}

/** Limits and defaults of the push guide (developers.google.com/workspace/calendar/api/guides/push). */
const MAX_ID = 64;
const MAX_TOKEN = 256;
const DEFAULT_TTL_S = 604_800;
const RETRIED = new Set([500, 502, 503, 504]);
const ATTEMPTS = 3;
const RETRY_DELAY_MS = 50;

/** The watches of the sandbox, and the delivery of their notifications to loopback URLs. */
export class Channels {
  readonly #world: World;
  readonly #faults: FaultPlan;
  readonly #channels = new Map<string, Channel>();
  readonly #resourceIds = new Map<string, string>();
  readonly #deliveries = new Set<Promise<void>>();

  constructor(world: World, faults: FaultPlan) {
    this.#world = world;
    this.#faults = faults;
    world.onEventChange.push((calendarId) => this.notify(calendarId));
  }

  /** The channels that are neither stopped nor expired. */
  list(): Channel[] {
    return [...this.#channels.values()].filter((channel) => channel.expiresAt > this.#world.now());
  }

  /** Resolves when no notification is on its way any more. */
  async settled(): Promise<void> {
    while (this.#deliveries.size > 0) {
      await Promise.all(this.#deliveries);
    }
  }

  watch(context: Context): ApiAnswer {
    const { calendar } = calendarFor(context, 'reader', EVENT_READ_SCOPES);
    const channel = this.#toChannel(context, calendar);
    this.#channels.set(channel.id, channel);
    this.#send(channel, 'sync');
    const { id, resourceId, resourceUri, token, expiresAt } = channel;
    const body = { kind: 'api#channel', id, resourceId, resourceUri, token, expiration: String(expiresAt) };
    return { status: 200, body };
  }

  stop(context: Context): ApiAnswer {
    const body = jsonBody(context);
    const id = textField(body, 'id') ?? '';
    const channel = this.#channels.get(id);
    const sameIdentity = channel?.openedBy === context.caller.account && channel.clientId === context.caller.clientId;
    if (!channel || channel.resourceId !== textField(body, 'resourceId') || !sameIdentity) {
      throw new ApiError(404, 'notFound', 'Channel not found for project');
    }
    this.#channels.delete(id);
    return { status: 204 };
  }

  /** Notifies every live channel of the calendar about a change. A `lost-notification` fault drops the notification. */
  notify(calendarId: string): void {
    for (const channel of this.#channels.values()) {
      if (channel.calendarId === calendarId && channel.expiresAt > this.#world.now()) {
        this.#send(channel, 'exists');
      }
    }
  }

  #send(channel: Channel, state: 'sync' | 'exists'): void {
    // Grows, but not one by one, as at the vendor.
    channel.messageNumber += 1 + (state === 'exists' ? channel.messageNumber % 3 : 0);
    if (this.#faults.active('lost-notification', { method: 'POST', path: channel.address, client: channel.openedBy })) {
      return;
    }
    const headers = notificationHeaders(channel, state);
    const delivery = this.#deliver(channel.address, headers).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  async #deliver(address: string, headers: Record<string, string>): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const status = await post(address, headers);
      this.#world.counts.add(`notifications:${status}`);
      if (!RETRIED.has(status)) {
        return;
      }
      await delay(RETRY_DELAY_MS * attempt);
    }
  }

  #toChannel(context: Context, calendar: Calendar): Channel {
    const body = jsonBody(context);
    const id = textField(body, 'id');
    const address = textField(body, 'address');
    const token = textField(body, 'token');
    if (id === undefined || address === undefined) {
      throw required(`Missing required parameter: ${id === undefined ? 'id' : 'address'}`);
    }
    if (!/^[A-Za-z0-9\-_+/=]+$/.test(id) || id.length > MAX_ID) {
      throw invalid('Invalid value for: id');
    }
    if (this.#channels.has(id)) {
      throw new ApiError(400, 'channelIdNotUnique', 'Channel id not unique');
    }
    if (textField(body, 'type') !== 'web_hook') {
      throw invalid('Invalid value for: type');
    }
    if ((token?.length ?? 0) > MAX_TOKEN) {
      throw invalid('Invalid value for: token');
    }
    checkAddress(address);
    return {
      id,
      address,
      token,
      calendarId: calendar.id,
      resourceId: this.#resourceIdOf(calendar.id),
      resourceUri: `https://www.googleapis.com/calendar/v3/calendars/${encodeURIComponent(calendar.id)}/events?alt=json`,
      expiresAt: expiryOf(body, this.#world.now()),
      openedBy: context.caller.account,
      clientId: context.caller.clientId,
      messageNumber: 0,
    };
  }

  #resourceIdOf(calendarId: string): string {
    const known = this.#resourceIds.get(calendarId) ?? randomBytes(20).toString('base64url');
    this.#resourceIds.set(calendarId, known);
    return known;
  }
}

function expiryOf(body: Record<string, unknown>, now: number): number {
  const parameters = body.params;
  const ttl =
    typeof parameters === 'object' && parameters !== null && 'ttl' in parameters ? Number(parameters.ttl) : undefined;
  const wanted = body.expiration === undefined ? now + (ttl ?? DEFAULT_TTL_S) * 1000 : Number(body.expiration);
  if (!Number.isFinite(wanted) || wanted <= now) {
    throw invalid('Invalid value for: expiration');
  }
  return Math.min(wanted, now + DEFAULT_TTL_S * 1000);
}

/** The vendor requires https with a valid certificate. The sandbox also accepts plain http on loopback. */
function checkAddress(address: string): void {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  const isLoopback = url?.hostname === '127.0.0.1' || url?.hostname === 'localhost';
  if (!url || (url.protocol !== 'https:' && !isLoopback)) {
    throw new ApiError(400, 'push.webhookUrlNotHttps', `WebHook callback must be HTTPS`);
  }
}

function notificationHeaders(channel: Channel, state: 'sync' | 'exists'): Record<string, string> {
  return {
    'x-goog-channel-id': channel.id,
    'x-goog-message-number': String(channel.messageNumber),
    'x-goog-resource-id': channel.resourceId,
    'x-goog-resource-state': state,
    'x-goog-resource-uri': channel.resourceUri,
    'x-goog-channel-expiration': new Date(channel.expiresAt).toUTCString(),
    ...(channel.token === undefined ? {} : { 'x-goog-channel-token': channel.token }),
  };
}

/**
 * Returns the status of the answer, or 0 if there is none. The sandbox sends only to loopback URLs; an https URL is treated as unreachable.
 */
async function post(address: string, headers: Record<string, string>): Promise<number> {
  if (!address.startsWith('http:')) {
    return 0;
  }
  try {
    const response = await fetch(address, { method: 'POST', headers, redirect: 'manual' });
    await response.body?.cancel();
    return response.status;
  } catch {
    return 0;
  }
}
