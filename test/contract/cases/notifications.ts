import { expect } from 'vitest';
import type { Subscription, SubscriptionRequest, Subscriptions } from '../../../src/connectors/connector.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { type ReceivedRequest, type Receiver, startReceiver } from '../../support/receiver.ts';
import { group } from '../contract-case.ts';
import { type CalendarKit, signal } from '../contract-kit.ts';
import { required } from './batches.ts';

/** Subscriptions at a vendor, and the notifications that the vendor posts. */
export const notifications = group<CalendarKit>('notifications', {
  'a manual change is posted to the URL, with the secret': heard(async ({ kit, open, told }) => {
    const { remoteId } = (await kit.create('a'))[0]!;
    const { request } = await open();
    await told();
    await kit.target.server.editByHand(remoteId ?? (await kit.object('a')).remoteId, { title: 'By hand' });
    expect(await told()).toEqual([`changed ${request.id} ${request.secret}`]);
    await kit.target.server.deleteByHand((await kit.object('a')).remoteId);
    expect(await told()).toEqual([`changed ${request.id} ${request.secret}`]);
  }),
  'a subscription is opened for the requested time, and posts only the opening before a change': heard(
    async ({ open, told }) => {
      const { request, subscription } = await open();
      expect(subscription.id).toBe(request.id);
      expect(Math.abs(subscription.expiresAt - request.expiresAt)).toBeLessThan(1_000);
      const opened = `opened ${request.id} ${request.secret}`;
      expect((await told()).filter((each) => each !== opened)).toEqual([]);
    },
  ),
  'a lifetime above the vendor’s limit is shortened, and the end is reported': heard(async ({ open }) => {
    const { subscription } = await open({ expiresAt: Date.now() + 365 * DAY_MS });
    expect(subscription.expiresAt).toBeGreaterThan(Date.now() + 6 * DAY_MS);
    expect(subscription.expiresAt).toBeLessThan(Date.now() + 30 * DAY_MS);
  }),
  'after a subscription was closed nothing comes, and closing again is no error': heard(
    async ({ kit, subscriptions, open, told }) => {
      const { subscription } = await open();
      await subscriptions.close(subscription, signal());
      await subscriptions.close(subscription, signal());
      await told();
      await kit.target.server.putForeign('By hand');
      expect(await told()).toEqual([]);
    },
  ),
  'a subscription is prolonged, or a second one overlaps it: no change goes untold': heard(
    async ({ kit, subscriptions, open, told }) => {
      const first = await open({ expiresAt: Date.now() + HOUR_MS });
      const extended = await subscriptions.extend(first.subscription, Date.now() + DAY_MS, signal());
      const second = extended === null ? await open() : { ...first, subscription: extended };
      expect(second.subscription.expiresAt).toBeGreaterThan(first.subscription.expiresAt);
      await told();
      await kit.target.server.putForeign('By hand');
      const heard = new Set([first, second].map(({ request }) => `changed ${request.id} ${request.secret}`));
      expect(new Set(await told())).toEqual(heard);
      if (extended === null) await subscriptions.close(first.subscription, signal());
      await kit.target.server.putForeign('By hand, too');
      expect(await told()).toEqual([`changed ${second.request.id} ${second.request.secret}`]);
    },
  ),
  'a lost answer to opening leaves one subscription, which notifies and can be cancelled': heard(
    async ({ kit, subscriptions, open, told }) => {
      kit.target.proxy.add({ ...required(kit.target.dialect, 'opening'), fault: { kind: 'lost-answer' } });
      const { request, subscription } = await open();
      await told();
      await kit.target.server.putForeign('By hand');
      expect(await told()).toEqual([`changed ${request.id} ${request.secret}`]);
      await subscriptions.close(subscription, signal());
      await kit.target.server.putForeign('By hand, too');
      expect(await told()).toEqual([]);
    },
  ),
  'an unreachable vendor opens no subscription, and a retry opens one': heard(async ({ kit, open, told }) => {
    const { dialect, proxy } = kit.target;
    proxy.add({ times: Number.POSITIVE_INFINITY, fault: { kind: 'cut' } });
    await expect(open()).rejects.toMatchObject({ actor: 'remote' });
    proxy.clear();
    proxy.add({ ...required(dialect, 'opening'), fault: { kind: 'answer', answer: dialect.throttled('7') } });
    await expect(open()).rejects.toMatchObject({ code: 'rate-limited', retryAfterMs: 7_000 });
    const { request } = await open();
    await told();
    await kit.target.server.putForeign('By hand');
    expect(await told()).toEqual([`changed ${request.id} ${request.secret}`]);
  }),
  'an expired access token is renewed once, and a refused connection requires an operator': heard(
    async ({ kit, open }) => {
      const { dialect, proxy } = kit.target;
      const answer = { kind: 'answer', answer: dialect.unauthorized() } as const;
      proxy.add({ ...required(dialect, 'opening'), fault: answer });
      await open();
      proxy.add({ times: Number.POSITIVE_INFINITY, fault: answer });
      await expect(open()).rejects.toMatchObject({ actor: 'authorization', retry: 'never' });
    },
  ),
  'a calendar that is gone has no notifications': heard(async ({ kit, open }) => {
    await kit.target.server.deleteContainer(kit.target.container);
    await expect(open()).rejects.toMatchObject({ actor: 'settings', code: 'calendar-gone' });
  }),
  'what no vendor would send is unreadable': async (kit) => {
    const read = required(kit.target, 'readNotification');
    for (const body of ['', 'x', 'null', '[]', '{}', '{"value":[]}', '{"value":[null,1,"x",{}]}', '{"value":']) {
      for (const headers of [{}, { 'content-type': 'application/json', 'x-goog-resource-state': 'strange' }]) {
        const query = new URLSearchParams('validationToken=&x=%');
        expect(read({ query, headers, body })).toEqual({ kind: 'unreadable' });
      }
    }
  },
});

/** What a case of this group works with. */
interface Hearing {
  kit: CalendarKit;
  subscriptions: Subscriptions;
  /** Opens a subscription to the receiver, under a fresh id and secret. */
  open(choice?: { expiresAt?: number }): Promise<{ request: SubscriptionRequest; subscription: Subscription }>;
  /** Returns the notifications since the last call after all of them have arrived: event, id in the URL, and secret. */
  told(): Promise<string[]>;
}

/** Gives a case a receiver that reads as the connector does. */
function heard(run: (hearing: Hearing) => Promise<void>) {
  return async (kit: CalendarKit) => {
    const read = required(kit.target, 'readNotification');
    const subscriptions = required(kit.connector, 'subscriptions');
    const receiver = await startReceiver((request) => {
      const reading = read(request);
      return reading.kind === 'handshake' ? { status: 200, text: reading.answer } : {};
    });
    try {
      await run({ kit, subscriptions, open: opener(kit, subscriptions, receiver), told: teller(kit, receiver) });
    } finally {
      await receiver.close();
    }
  };
}

function opener(kit: CalendarKit, subscriptions: Subscriptions, { url }: Receiver): Hearing['open'] {
  let count = 0;
  return async ({ expiresAt = Date.now() + 2 * DAY_MS } = {}) => {
    count += 1;
    const id = count.toString(16).padStart(32, 'c0de');
    const secret = `${count}`.padStart(43, 'Secret-of_a-subscription');
    const request = { id, secret, address: `${url}/notifications/${id}`, expiresAt };
    return { request, subscription: await subscriptions.open(kit.target.container, request, signal()) };
  };
}

function teller(kit: CalendarKit, receiver: Receiver): Hearing['told'] {
  return async () => {
    await required(kit.target.server, 'notificationsSettled')();
    const words = receiver.requests.flatMap((request) => wordsOf(kit, request));
    receiver.forget();
    return [...new Set(words)];
  };
}

function wordsOf(kit: CalendarKit, request: ReceivedRequest): string[] {
  const reading = required(kit.target, 'readNotification')(request);
  if (reading.kind === 'handshake') return [];
  if (reading.kind === 'unreadable') return ['unreadable'];
  return reading.events.map(({ event, secret }) => `${event} ${request.path.split('/').at(-1)} ${secret}`);
}
