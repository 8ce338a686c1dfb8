import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { notificationStatus } from '../../src/operator/control/status-view.ts';
import { keys } from '../../src/state/keys.ts';
import { isSubscriptionSecret } from '../../src/tenant/subscription-store.ts';
import { maintainSubscriptions, withoutSubscriptions } from '../../src/tenant/subscriptions.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { crashingRedis } from './crashing-redis.ts';
import { cycle, NEVER } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import {
  createModelTarget,
  createModelVendor,
  giveSubscriptions,
  type ModelTarget,
  type ModelVendor,
  type VendorSubscription,
} from './model-target.ts';
import { openTenant, type TargetChoice, type TenantChoice } from './open-tenant.ts';

const redis = useRedis();
const URL = 'https://mirror.test';

interface World {
  vendor: ModelVendor;
  clock: { now: number };
  targets: TargetChoice[];
  /** Another process over the same state. */
  open(changes?: Partial<TenantChoice>): OpenTenant;
}

/** A tenant whose targets have been filled once, each in a separate calendar. */
async function filled(...ids: string[]): Promise<World> {
  const clock = { now: NOW };
  const vendor = createModelVendor(() => clock.now);
  const clinic = createModelClinic();
  clinic.appointments.set('1', appointmentOf('1'));
  const targets = (ids.length === 0 ? ['doctor'] : ids).map((id) => ({
    id,
    model: giveSubscriptions(namedTarget(id), vendor),
  }));
  const open = (changes: Partial<TenantChoice> = {}) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      targets,
      clock: () => clock.now,
      notificationsUrl: URL,
      subscriptionsOf: () => vendor.subscriptions,
      ...changes,
    });
  await cycle(open());
  return { vendor, clock, targets, open };
}

/** The calendars of two models would carry the same name. */
function namedTarget(id: string): ModelTarget {
  const model = createModelTarget();
  const open = model.open;
  model.open = (ownerTag) => {
    const connector = open(ownerTag);
    const inner = (container: string) => container.slice(id.length + 1);
    return {
      ...connector,
      prepare: async (...asked) => `${id}/${await connector.prepare(...asked)}`,
      apply: (container, operations, signal) => connector.apply(inner(container), operations, signal),
    };
  };
  return model;
}

function keep(tenant: OpenTenant, hurry = false) {
  return maintainSubscriptions(tenant, { hurry }, { stop: NEVER, abort: NEVER });
}

function only(vendor: ModelVendor): VendorSubscription {
  const [subscription] = vendor.open.values();
  if (subscription === undefined || vendor.open.size > 1) throw new Error(`${vendor.open.size} subscriptions are open`);
  return subscription;
}

async function statusOf(tenant: OpenTenant, target = 'doctor') {
  const found = tenant.targets.get(target);
  if (found === undefined) throw new Error('no such target');
  const { container } = await tenant.targetStore.read(target);
  return notificationStatus(tenant, found, container, await tenant.notifications.store.read());
}

function failure(code: string, options: Partial<ConstructorParameters<typeof MirrorError>[1]> = {}): MirrorError {
  return new MirrorError('the vendor says no', { actor: 'remote', code, retry: 'later', ...options });
}

describe('a subscription is opened', () => {
  test('for a target with a calendar, under a URL that reveals nothing', async () => {
    const { vendor, open } = await filled();
    const tenant = open();
    expect(await keep(tenant)).toEqual({ opened: ['doctor'] });
    const { id, address, secret, container } = only(vendor);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(address).toBe(`${URL}/notifications/model/${id}`);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(container).toBe((await tenant.targetStore.read('doctor')).container);
    expect(await statusOf(tenant)).toEqual({ sinceAt: NOW, untilAt: NOW + 2 * DAY_MS, reason: null });
  });

  test('whose secret is nowhere in Redis, only its hash', async () => {
    const { vendor, open } = await filled();
    const tenant = open();
    await keep(tenant);
    const { id, secret } = only(vendor);
    const connection = redis.connect();
    const kept = [
      await connection.get(keys.subscription(id)),
      ...(await connection.hvals(keys.subscriptions(tenant.id))),
    ];
    expect(kept.join()).not.toContain(secret);
    const addressee = await tenant.notifications.directory.find(id);
    expect(addressee).toMatchObject({ tenant: tenant.id, targets: ['doctor'], isOpening: false, asked: null });
    expect(isSubscriptionSecret(secret, addressee?.secretHash ?? '')).toBe(true);
    expect(isSubscriptionSecret(`${secret}x`, addressee?.secretHash ?? '')).toBe(false);
  });

  test('that the receiver knows before the vendor does, to answer its check', async () => {
    const { vendor, open } = await filled();
    const tenant = open();
    const seen: unknown[] = [];
    vendor.onOpen = async ({ id }) => void seen.push(await tenant.notifications.directory.find(id));
    await keep(tenant);
    expect(seen).toMatchObject([{ isOpening: true, connector: 'model' }]);
  });

  test('once, however often it is checked and however many daemons run', async () => {
    const { vendor, open } = await filled();
    await Promise.all([keep(open()), keep(open()), keep(open())]);
    for (let index = 0; index < 3; index += 1) await keep(open());
    expect(vendor.calls).toEqual(['open 1']);
  });

  test('not without a public URL, without a calendar, or while paused', async () => {
    const { vendor, targets, open } = await filled();
    expect(await keep(open({ notificationsUrl: null }))).toEqual({ opened: [] });
    expect(await statusOf(open({ notificationsUrl: null }))).toMatchObject({ reason: 'no-public-address' });
    await keep(open({ paused: true }));
    await keep(open({ targets: targets.map((target) => ({ ...target, configuration: { paused: true } })) }));
    await keep(open({ id: 'never-filled' }));
    expect(vendor.calls).toEqual([]);
  });

  test('not for a connector that has none', async () => {
    const { vendor, open } = await filled();
    const tenant = open({ targets: [{ model: createModelTarget() }] });
    expect(await keep(tenant)).toEqual({ opened: [] });
    expect(vendor.calls).toEqual([]);
    expect(await statusOf(tenant)).toMatchObject({ reason: 'not-offered' });
  });

  test('for two targets on one calendar together', async () => {
    const { vendor, targets, open } = await filled();
    const [{ model }] = targets as [TargetChoice];
    const both = { targets: [...targets, { id: 'nurse', model }] };
    await cycle(open(both));
    await keep(open());
    await keep(open(both));
    expect(vendor.calls).toEqual(['open 1']);
    const { directory } = open().notifications;
    expect((await directory.find(only(vendor).id))?.targets).toEqual(['doctor', 'nurse']);
    expect(await statusOf(open(both), 'nurse')).toMatchObject({ untilAt: NOW + 2 * DAY_MS });
  });
});

describe('a subscription is renewed', () => {
  test('by extension when half of its time is over, if the vendor allows it', async () => {
    const { vendor, clock, open } = await filled();
    vendor.extends = true;
    vendor.mostMs = 10 * HOUR_MS;
    await keep(open());
    clock.now += 5 * HOUR_MS - 1;
    await keep(open());
    expect(vendor.calls).toEqual(['open 1']);
    clock.now += 1;
    expect(await keep(open())).toEqual({ opened: [] });
    expect(vendor.calls).toEqual(['open 1', 'extend 1']);
    expect(await statusOf(open())).toEqual({ sinceAt: NOW, untilAt: clock.now + 10 * HOUR_MS, reason: null });
  });

  test('otherwise by another that is open before this one is closed', async () => {
    const { vendor, clock, open } = await filled();
    await keep(open());
    const { id } = only(vendor);
    clock.now += DAY_MS;
    expect(await keep(open())).toEqual({ opened: [] });
    expect(vendor.calls).toEqual(['open 1', 'open 2', 'close 1']);
    expect(only(vendor).id).not.toBe(id);
    expect(await open().notifications.directory.find(id)).toBeNull();
    expect(await statusOf(open())).toEqual({ sinceAt: NOW, untilAt: clock.now + 2 * DAY_MS, reason: null });
  });

  test('at once when the vendor requests it', async () => {
    const { vendor, open } = await filled();
    vendor.extends = true;
    await keep(open());
    const { directory } = open().notifications;
    const { id } = only(vendor);
    const addressee = await directory.find(id);
    if (addressee === null) throw new Error('unknown subscription');
    await directory.ask(id, addressee, 'extend');
    await keep(open());
    await keep(open());
    expect(vendor.calls).toEqual(['open 1', 'extend 1']);
  });

  test('after the vendor ended it, by a new one that is checked', async () => {
    const { vendor, open } = await filled();
    await keep(open());
    const { directory } = open().notifications;
    const { id } = only(vendor);
    const addressee = await directory.find(id);
    if (addressee === null) throw new Error('unknown subscription');
    vendor.open.clear();
    await directory.ask(id, addressee, 'ended');
    expect(await keep(open())).toEqual({ opened: ['doctor'] });
    expect(vendor.calls).toEqual(['open 1', 'open 1']);
  });

  test('after it expired while no daemon ran', async () => {
    const { vendor, clock, open } = await filled();
    await keep(open());
    vendor.open.clear();
    clock.now += 3 * DAY_MS;
    expect(await statusOf(open())).toMatchObject({ sinceAt: null, untilAt: null, reason: 'not-yet' });
    expect(await keep(open())).toEqual({ opened: ['doctor'] });
    expect(await statusOf(open())).toMatchObject({ sinceAt: clock.now });
  });

  test('in the new calendar when the calendar was replaced, or the URL has changed', async () => {
    const { vendor, open } = await filled();
    await keep(open());
    await open().targetStore.write('doctor', { container: 'doctor/calendar-2' });
    expect(await keep(open())).toEqual({ opened: ['doctor'] });
    expect(vendor.calls).toEqual(['open 1', 'close 0', 'open 1']);
    expect(only(vendor).container).toBe('doctor/calendar-2');
    await keep(open({ notificationsUrl: 'https://elsewhere.test' }));
    expect(only(vendor).address).toMatch(/^https:\/\/elsewhere\.test\//);
  });

  test('when the receiver no longer knows it', async () => {
    const { vendor, open } = await filled();
    await keep(open());
    await open().notifications.directory.remove(only(vendor).id);
    await keep(open());
    expect(vendor.calls).toEqual(['open 1', 'close 0', 'open 1']);
  });
});

describe('a subscription is ended', () => {
  test('when its target is paused, its tenant is paused, or the public URL is removed', async () => {
    const { vendor, targets, open } = await filled();
    const paused = targets.map((target) => ({ ...target, configuration: { paused: true } }));
    for (const changes of [{ targets: paused }, { paused: true }, { notificationsUrl: null }]) {
      await keep(open());
      const { id } = only(vendor);
      await keep(open(changes));
      expect(vendor.open.size).toBe(0);
      expect(await open().notifications.directory.find(id)).toBeNull();
    }
  });

  test('from its stored data when its target is no longer configured', async () => {
    const { vendor, open } = await filled();
    await keep(open());
    const asked: unknown[] = [];
    const subscriptionsOf: TenantChoice['subscriptionsOf'] = (subscription) => {
      asked.push(subscription);
      return vendor.subscriptions;
    };
    await keep(open({ targets: [], subscriptionsOf }));
    expect(vendor.open.size).toBe(0);
    expect(asked).toMatchObject([{ connector: 'model', connection: 'model', settings: {} }]);
    expect(await open().notifications.store.read()).toEqual(new Map());
  });

  test('by its expiry when its connection is gone too; its notifications are ignored', async () => {
    const { vendor, open } = await filled();
    await keep(open());
    await keep(open({ targets: [], subscriptionsOf: () => null }));
    expect(await open().notifications.directory.find(only(vendor).id)).toBeNull();
    expect(await open().notifications.store.read()).toEqual(new Map());
  });

  test('again and again while the vendor fails, and not for longer than it lives', async () => {
    const { vendor, clock, open } = await filled();
    await keep(open());
    vendor.fault = (call) => (call === 'close' ? failure('server-error') : null);
    await keep(open({ paused: true }));
    expect((await open().notifications.store.read()).get('doctor')?.failure?.code).toBe('server-error');
    clock.now += 3 * DAY_MS;
    await keep(open({ paused: true }));
    expect(vendor.calls).toEqual(['open 1', 'close failed']);
    expect(await open().notifications.store.read()).toEqual(new Map());
  });

  test('before its grant is revoked, and never blocks the revocation', async () => {
    const { vendor, open } = await filled();
    for (const fault of [null, failure('server-error')]) {
      vendor.fault = (call) => (call === 'close' ? fault : null);
      vendor.open.clear();
      await keep(open(), true);
      const { id } = only(vendor);
      const order: string[] = [];
      const tenant = open();
      const logOut = async () => {
        order.push(`logout with ${vendor.open.size} open`);
        expect(await keep(open())).toBeNull();
        return 'revoked';
      };
      expect(await withoutSubscriptions(tenant, 'model', logOut, NEVER)).toBe('revoked');
      expect(order).toEqual([`logout with ${fault === null ? 0 : 1} open`]);
      expect(await tenant.notifications.directory.find(id)).toBeNull();
      expect(await tenant.notifications.store.read()).toEqual(new Map());
    }
  });

  test('not by the end of another connection', async () => {
    const { vendor, open } = await filled();
    await keep(open());
    await withoutSubscriptions(open(), 'other', async () => {}, NEVER);
    expect(vendor.open.size).toBe(1);
    await keep(open());
    expect(vendor.calls).toEqual(['open 1']);
  });
});

describe('failure', () => {
  test('of one target pauses it with its code, and does not affect the others', async () => {
    const { vendor, clock, open } = await filled('doctor', 'nurse');
    vendor.fault = (call, container) =>
      call === 'open' && container?.startsWith('doctor') ? failure('server-error') : null;
    expect(await keep(open())).toEqual({ opened: ['nurse'] });
    expect(await statusOf(open(), 'doctor')).toEqual({ sinceAt: null, untilAt: null, reason: 'server-error' });
    expect(await statusOf(open(), 'nurse')).toMatchObject({ reason: null, sinceAt: NOW });
    await keep(open());
    expect(vendor.calls).toEqual(['open failed', 'open 1']);
    clock.now += 5 * MINUTE_MS;
    vendor.fault = () => null;
    expect(await keep(open())).toEqual({ opened: ['doctor'] });
    expect(await statusOf(open(), 'doctor')).toMatchObject({ reason: null });
  });

  test('that came while the clock ran ahead is over when the clock is right again', async () => {
    const { vendor, clock, open } = await filled();
    clock.now += 30 * DAY_MS;
    vendor.fault = () => failure('server-error');
    await keep(open());
    clock.now -= 30 * DAY_MS;
    vendor.fault = () => null;
    expect(await keep(open())).toEqual({ opened: ['doctor'] });
  });

  test('that requires action is retried less and less often, at least hourly, and at once after the action', async () => {
    const { vendor, clock, open } = await filled();
    vendor.fault = () => failure('scope-missing', { actor: 'authorization', retry: 'never' });
    await keep(open());
    await keep(open());
    expect(vendor.calls).toHaveLength(1);
    for (let hour = 0; hour < 3; hour += 1) {
      clock.now += HOUR_MS;
      await keep(open());
    }
    expect(vendor.calls).toHaveLength(4);
    clock.now += HOUR_MS / 4;
    await keep(open());
    expect(vendor.calls).toHaveLength(4);
    await keep(open(), true);
    expect(vendor.calls).toEqual(Array.from({ length: 5 }, () => 'open failed'));
  });

  test('to extend a subscription keeps the subscription until its expiry', async () => {
    const { vendor, clock, open } = await filled();
    vendor.extends = true;
    await keep(open());
    vendor.fault = () => failure('server-error');
    clock.now += DAY_MS;
    await keep(open());
    expect(await statusOf(open())).toEqual({ sinceAt: NOW, untilAt: NOW + 2 * DAY_MS, reason: 'server-error' });
    vendor.fault = () => null;
    clock.now += HOUR_MS;
    await keep(open());
    expect(await statusOf(open())).toEqual({ sinceAt: NOW, untilAt: clock.now + 2 * DAY_MS, reason: null });
  });

  test('to close an old one does not block a new one', async () => {
    const { vendor, clock, open } = await filled();
    await keep(open());
    vendor.fault = (call) => (call === 'close' ? failure('server-error') : null);
    await open().targetStore.write('doctor', { container: 'doctor/calendar-2' });
    expect(await keep(open())).toEqual({ opened: ['doctor'] });
    expect(await statusOf(open())).toMatchObject({ sinceAt: NOW, reason: 'server-error' });
    vendor.fault = () => null;
    clock.now += 10 * MINUTE_MS;
    await keep(open());
    expect(only(vendor).container).toBe('doctor/calendar-2');
    expect(await statusOf(open())).toMatchObject({ reason: null });
  });

  test('that may have opened a subscription after all is not retried within the hour', async () => {
    const { vendor, clock, open } = await filled();
    vendor.onOpen = () => {
      throw failure('answer-missing', { ambiguous: true });
    };
    for (let minutes = 0; minutes < 120; minutes += 5) {
      await keep(open());
      clock.now += 5 * MINUTE_MS;
    }
    expect(vendor.open.size).toBe(2);
    for (const { id } of vendor.open.values()) expect(await open().notifications.directory.find(id)).toBeNull();
  });
});

test.each([true, false])(
  'a crash at any call of Redis leaves one subscription that is heard, and at most one that runs out (carried out: %s)',
  async (lastIsCarriedOut) => {
    let crashes = 0;
    for (let hasCrashed = true; hasCrashed; crashes += 1) {
      await redis.connect().flushall();
      const { vendor, open } = await filled();
      // A dead process tidies nothing up.
      vendor.fault = (call) => (call === 'close' ? failure('dead') : null);
      hasCrashed = await keep(open({ redis: crashingRedis(redis.connect(), crashes, lastIsCarriedOut) })).then(
        () => false,
        () => true,
      );
      vendor.fault = () => null;
      await redis.connect().del(keys.lease('studio-rossi', 'subscriptions'));
      await keep(open(), true);
      const ids = [...vendor.open.keys()];
      const { directory, store } = open().notifications;
      const kept = (await store.read()).get('doctor');
      const addressee = await directory.find(kept?.current?.id ?? '');
      expect(kept, `crash at call ${crashes}`).toMatchObject({ closing: [], failure: null });
      expect(ids).toContain(kept?.current?.id);
      expect(addressee).toMatchObject({ isOpening: false });
      expect(ids.length).toBeLessThanOrEqual(2);
    }
    expect(crashes).toBeGreaterThan(5);
  },
);

test('a stopping daemon waits for the vendor’s answer, and starts nothing new', async () => {
  const { vendor, open } = await filled('doctor', 'nurse');
  const stop = new AbortController();
  vendor.onOpen = () => stop.abort();
  expect(await maintainSubscriptions(open(), { hurry: false }, { stop: stop.signal, abort: NEVER })).toEqual({
    opened: ['doctor'],
  });
  expect(vendor.calls).toEqual(['open 1']);
  expect(await statusOf(open(), 'doctor')).toMatchObject({ sinceAt: NOW, reason: null });
});

test('the other target on a calendar takes the subscription over when the one that held it is paused', async () => {
  const { vendor, targets, open } = await filled();
  const [{ model }] = targets as [TargetChoice];
  const nurse = { id: 'nurse', model };
  await cycle(open({ targets: [...targets, nurse] }));
  await keep(open({ targets: [...targets, nurse] }));
  const { id } = only(vendor);
  await keep(open({ targets: [{ id: 'doctor', model, configuration: { paused: true } }, nurse] }));
  expect(only(vendor).id).not.toBe(id);
  expect((await open().notifications.directory.find(only(vendor).id))?.targets).toEqual(['nurse']);
});
