import { beforeEach, describe, expect, test } from 'vitest';
import type { NotificationEvent, NotificationRequest, ReadNotification } from '../../../src/connectors/connector.ts';
import { createNotificationReceiver, type ReceivedNotification } from '../../../src/operator/control/notifications.ts';
import { keys } from '../../../src/state/keys.ts';
import {
  createSubscriptionDirectory,
  type SubscriptionDirectory,
  subscriptionSecretHash,
} from '../../../src/tenant/subscription-store.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const ID = '0123456789abcdef0123456789abcdef';
const SECRET = 'the-secret-of-the-subscription';

/** A vendor's format: `token` in the query is the vendor's check; otherwise the body holds events, grouped by secret. */
function read({ query, body }: NotificationRequest): ReadNotification {
  const token = query.get('token');
  if (token !== null) return { kind: 'handshake', answer: token };
  if (!body.startsWith('[')) return { kind: 'unreadable' };
  return { kind: 'events', events: JSON.parse(body) as { secret: string; event: NotificationEvent }[] };
}

let clock: { now: number };
let directory: SubscriptionDirectory;
let lookups: number;
let checked: string[];
let kept: string[];
let counted: string[];
let receive: (changes?: Partial<ReceivedNotification>) => Promise<string | null>;

beforeEach(async () => {
  clock = { now: NOW };
  lookups = 0;
  checked = [];
  kept = [];
  counted = [];
  directory = createSubscriptionDirectory(redis.connect(), Buffer.alloc(32, 7), () => clock.now);
  const receiver = createNotificationReceiver({
    readers: new Map([
      ['model', read],
      ['other', read],
    ]),
    directory: {
      ...directory,
      find(id) {
        lookups += 1;
        return directory.find(id);
      },
    },
    checkTarget: async (tenant, target, { whole }) => void checked.push(`${tenant}/${target}${whole ? ' whole' : ''}`),
    renewSubscriptions: async (tenant) => void kept.push(tenant),
    count: (connector, result) => void counted.push(`${connector} ${result}`),
    clock: () => clock.now,
  });
  receive = (changes = {}) =>
    receiver({
      connector: 'model',
      subscriptionId: ID,
      query: new URLSearchParams(),
      headers: {},
      body: said('changed'),
      ...changes,
    });
  await openSubscription();
});

function openSubscription({ isOpening = false, targets = ['doctor'] } = {}): Promise<void> {
  const secretHash = subscriptionSecretHash(SECRET);
  const addressee = { tenant: 'studio-rossi', connector: 'model', targets, secretHash, isOpening, asked: null };
  return directory.put(ID, addressee, NOW + 86_400_000);
}

function said(event: NotificationEvent, secret = SECRET): string {
  return JSON.stringify([{ secret, event }]);
}

describe('a genuine notification', () => {
  test('starts a check of every target of the calendar', async () => {
    await openSubscription({ targets: ['doctor', 'nurse'] });
    expect(await receive()).toBeNull();
    expect(checked).toEqual(['studio-rossi/doctor', 'studio-rossi/nurse']);
    expect(counted).toEqual(['model hint']);
  });

  test('of a vendor that lost changes starts a complete read of the target', async () => {
    await receive({ body: said('missed') });
    expect(checked).toEqual(['studio-rossi/doctor whole']);
    expect(kept).toEqual([]);
  });

  test('that is the first message of a subscription does nothing', async () => {
    await receive({ body: said('opened') });
    expect([checked, kept, counted]).toEqual([[], [], ['model opened']]);
  });

  test.each([
    ['extend', [], 'model upkeep'],
    ['ended', ['studio-rossi/doctor whole'], 'model hint'],
  ] as const)('with "%s" is stored with the subscription, which is checked at once', async (event, checks, result) => {
    await receive({ body: said(event) });
    expect((await directory.find(ID))?.asked).toBe(event);
    expect([checked, kept, counted]).toEqual([checks, ['studio-rossi'], [result]]);
  });

  test('does not extend the cached time of its subscription', async () => {
    const connection = redis.connect();
    await connection.pexpire(keys.subscription(ID), 5_000);
    await receive({ body: said('extend') });
    expect(await connection.pttl(keys.subscription(ID))).toBeLessThanOrEqual(5_000);
  });

  test('among false ones is the only one that applies', async () => {
    const events = [
      { secret: 'guessed', event: 'ended' },
      { secret: SECRET, event: 'changed' },
    ];
    await receive({ body: JSON.stringify(events) });
    expect([checked, kept, counted]).toEqual([['studio-rossi/doctor'], [], ['model wrong-secret', 'model hint']]);
  });
});

describe('a false notification is acknowledged without effect', () => {
  test.each<[string, Partial<ReceivedNotification>, string]>([
    ['a wrong secret', { body: said('changed', 'guessed') }, 'model wrong-secret'],
    ['an empty secret', { body: said('changed', '') }, 'model wrong-secret'],
    [
      'the hash in place of the secret',
      { body: said('changed', subscriptionSecretHash(SECRET)) },
      'model wrong-secret',
    ],
    ['an unknown subscription', { subscriptionId: 'f'.repeat(32) }, 'model unknown'],
    ['an id of another form', { subscriptionId: '../budget' }, 'model unknown'],
    ["another vendor's path", { connector: 'other' }, 'other unknown'],
    ['a connector that there is not', { connector: 'constructor' }, 'none unreadable'],
    ['nothing readable', { body: '<html>' }, 'model unreadable'],
    [
      'a check of an address that nobody asked for',
      { query: new URLSearchParams({ token: 'storedFingerprint me' }) },
      'model unknown',
    ],
  ])('%s', async (_what, changes, result) => {
    expect(await receive(changes)).toBeNull();
    expect([checked, kept, counted]).toEqual([[], [], [result]]);
    expect((await directory.find(ID))?.asked).toBeNull();
  });
});

test("the vendor's check of a new subscription is answered with the vendor's text", async () => {
  await openSubscription({ isOpening: true });
  expect(await receive({ query: new URLSearchParams({ token: '100% + more' }) })).toBe('100% + more');
  expect(counted).toEqual(['model handshake']);
});

describe('a flood of unknown ids', () => {
  test('is limited to two hundred lookups a second; known subscriptions still work', async () => {
    await receive();
    const ids = Array.from({ length: 5_000 }, (_, index) => index.toString(16).padStart(32, '0'));
    await Promise.all(ids.map((subscriptionId) => receive({ subscriptionId })));
    expect(lookups).toBe(201);
    expect(counted.filter((each) => each === 'model limited')).toHaveLength(4_800);
    await receive();
    expect(checked).toHaveLength(2);
    clock.now += 1_000;
    await receive({ subscriptionId: 'e'.repeat(32) });
    expect(lookups).toBe(203);
  });

  test('sends no Redis query for malformed ids', async () => {
    for (let index = 0; index < 1_000; index += 1) await receive({ subscriptionId: `x${index}` });
    expect(lookups).toBe(0);
  });

  test('is not assumed for genuine notifications from more subscriptions than the limit', async () => {
    const secretHash = subscriptionSecretHash(SECRET);
    const addressee = { tenant: 'a', connector: 'model', targets: ['t'], secretHash, isOpening: false, asked: null };
    const ids = Array.from({ length: 500 }, (_, index) => `a${index.toString(16).padStart(31, '0')}`);
    for (const id of ids) await directory.put(id, addressee, NOW + 86_400_000);
    for (const subscriptionId of ids) await receive({ subscriptionId });
    expect(checked).toHaveLength(500);
  });
});

test('a Redis failure is reported, so that the vendor posts again', async () => {
  const receiver = createNotificationReceiver({
    readers: new Map([['model', read]]),
    directory: { ...directory, find: () => Promise.reject(new Error('away')) },
    checkTarget: async () => {},
    renewSubscriptions: async () => {},
    count: () => {},
    clock: () => clock.now,
  });
  const posted = {
    connector: 'model',
    subscriptionId: ID,
    query: new URLSearchParams(),
    headers: {},
    body: said('changed'),
  };
  await expect(receiver(posted)).rejects.toThrow('away');
});
