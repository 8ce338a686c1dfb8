import { setTimeout as delay } from 'node:timers/promises';
import type { FaultPlan } from '../kit/faults.ts';
import { idOf } from './event-resource.ts';
import { etagOf } from './ids.ts';
import type { EventChange, World } from './world.ts';

/** A subscription to the events of a mailbox or of one calendar. `expiresAt` is epoch ms. */
export interface Subscription {
  id: string;
  clientId: string;
  /** The owner of the subscription; undefined with an app-only token. */
  account: string | undefined;
  /** As the client wrote it. */
  resource: string;
  mailboxId: string;
  /** Undefined: all calendars of the mailbox. */
  calendarId: string | undefined;
  changeTypes: readonly string[];
  notificationUrl: string;
  lifecycleNotificationUrl: string | undefined;
  clientState: string | undefined;
  expiresAt: number;
  immutableIds: boolean;
}

/** Notifications about the subscription itself (concepts/change-notifications-lifecycle-events). */
export type LifecycleEvent = 'reauthorizationRequired' | 'subscriptionRemoved' | 'missed';

/** A receiver has this long to answer (concepts/change-notifications-delivery-webhooks). */
const ANSWER_MS = 3000;
/** The vendor tries for four hours; here a few times are enough to show it. */
const ATTEMPTS = 3;
const RETRY_DELAY_MS = 50;

/** The subscriptions of the sandbox, and the delivery of their notifications to loopback URLs. */
export class Subscriptions {
  readonly #world: World;
  readonly #faults: FaultPlan;
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #deliveries = new Set<Promise<void>>();

  constructor(world: World, faults: FaultPlan) {
    this.#world = world;
    this.#faults = faults;
    world.onEventChange.push((change) => this.#notify(change));
  }

  /** The subscriptions that live. */
  list(): Subscription[] {
    return [...this.#subscriptions.values()].filter(({ expiresAt }) => expiresAt > this.#world.now());
  }

  find(id: string): Subscription | undefined {
    return this.list().find((subscription) => subscription.id === id);
  }

  put(subscription: Subscription): void {
    this.#subscriptions.set(subscription.id, subscription);
  }

  delete(id: string): void {
    this.#subscriptions.delete(id);
  }

  /**
   * Sends a lifecycle notification to the subscription's owner. `subscriptionRemoved` also removes the subscription.
   * @throws Error if the subscription does not exist
   */
  sendLifecycleEvent(id: string, lifecycleEvent: LifecycleEvent): void {
    const subscription = this.find(id);
    if (!subscription) {
      throw new Error(`The sandbox has no subscription ${id}`);
    }
    if (lifecycleEvent === 'subscriptionRemoved') {
      this.delete(id);
    }
    if (subscription.lifecycleNotificationUrl !== undefined) {
      const message = { ...this.#header(subscription), organizationId: this.#world.settings.tenantId, lifecycleEvent };
      this.#send(subscription, subscription.lifecycleNotificationUrl, message);
    }
  }

  /** Resolves when no notification is on its way any more. */
  async settled(): Promise<void> {
    while (this.#deliveries.size > 0) {
      await Promise.all(this.#deliveries);
    }
  }

  #notify({ mailbox, event, changeType }: EventChange): void {
    for (const subscription of this.list()) {
      const isPlace = subscription.calendarId === undefined || subscription.calendarId === event.calendarId;
      if (subscription.mailboxId !== mailbox.id || !isPlace || !subscription.changeTypes.includes(changeType)) {
        continue;
      }
      const id = idOf(event, subscription.immutableIds);
      const resource = `Users/${mailbox.id}/Events/${id}`;
      const resourceData = {
        '@odata.type': '#Microsoft.Graph.Event',
        '@odata.id': resource,
        '@odata.etag': etagOf(event.change),
        id,
      };
      const message = { ...this.#header(subscription), changeType, resource, resourceData };
      this.#send(subscription, subscription.notificationUrl, message);
    }
  }

  #header({ id, expiresAt, clientState }: Subscription): Record<string, unknown> {
    return {
      subscriptionId: id,
      subscriptionExpirationDateTime: new Date(expiresAt).toISOString(),
      tenantId: this.#world.settings.tenantId,
      ...(clientState === undefined ? {} : { clientState }),
    };
  }

  #send(subscription: Subscription, address: string, message: object): void {
    const client = subscription.account ?? subscription.clientId;
    if (this.#faults.active('lost-notification', { method: 'POST', path: address, client })) {
      return;
    }
    const delivery = this.#deliver(address, { value: [message] }).finally(() => this.#deliveries.delete(delivery));
    this.#deliveries.add(delivery);
  }

  async #deliver(address: string, body: object): Promise<void> {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const { status } = await post(address, JSON.stringify(body), ANSWER_MS);
      this.#world.counts.add(`notifications:${status}`);
      if (status >= 200 && status < 300) {
        return;
      }
      await delay(RETRY_DELAY_MS * attempt);
    }
  }
}

/** What a receiver answered; status 0 when nothing came in time. */
export interface PostAnswer {
  status: number;
  contentType: string;
  text: string;
}

/** Posts to a receiver. The sandbox sends only to loopback URLs; any other URL is treated as unreachable. */
export async function post(address: string, body: string, timeoutMs: number): Promise<PostAnswer> {
  const unreachable: PostAnswer = { status: 0, contentType: '', text: '' };
  if (!isLoopbackHttp(address)) {
    return unreachable;
  }
  const type: Record<string, string> =
    body === '' ? { 'content-type': 'text/plain' } : { 'content-type': 'application/json' };
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const response = await fetch(address, { method: 'POST', headers: type, body, redirect: 'manual', signal });
    const contentType = response.headers.get('content-type') ?? '';
    return { status: response.status, contentType, text: await response.text() };
  } catch {
    return unreachable;
  }
}

function isLoopbackHttp(address: string): boolean {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  return url?.protocol === 'http:' && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
}
