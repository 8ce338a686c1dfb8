import { randomBytes } from 'node:crypto';
import type { Subscription, Subscriptions } from '../connectors/connector.ts';
import type { Logger } from '../core/log/logger.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { IMPOSSIBLE_WAIT_MS } from '../engine/lane.ts';
import type { StopSignals } from '../engine/push.ts';
import { targetBackoffMs } from '../engine/retry.ts';
import type { Lease } from '../engine/store.ts';
import type { Leases } from '../state/leases.ts';
import {
  NO_SUBSCRIPTIONS,
  type StoredSubscription,
  type SubscriptionAddressee,
  subscriptionSecretHash,
  type TargetSubscriptions,
} from './subscription-store.ts';
import type { OpenTarget, TenantNotifications } from './tenant.ts';

/** Path of the receiver after the public URL; connector and subscription id follow. */
export const NOTIFICATIONS_PATH = '/notifications';

/**
 * Requested lifetime. Every limit of Graph so far allows it (4,230 minutes, later 10,080;
 * https://learn.microsoft.com/graph/api/resources/subscription), and so does Google's (seven days,
 * https://developers.google.com/workspace/calendar/api/guides/push). The lifetime limits how long a lost subscription continues.
 */
export const CHANNEL_LIFE_MS = 2 * DAY_MS;
/** How long the vendor may take to validate the URL of a requested subscription. */
const OPENING_MS = 10 * MINUTE_MS;

/** A tenant with subscriptions, opened or to be closed. */
interface NotifiedTenant {
  notifications: TenantNotifications;
  leases: Leases;
  log: Logger;
}

/** A tenant whose targets have notification subscriptions. */
interface SubscribedTenant extends NotifiedTenant {
  id: string;
  configuration: { paused: boolean };
  targets: ReadonlyMap<string, OpenTarget>;
  targetStore: { read(target: string): Promise<{ container: string | null }> };
  clock: Clock;
  random(): number;
}

/** A calendar with notifications, and all targets that write to it. */
interface HeardCalendar {
  /** The first target; the subscription is stored under its name. */
  target: OpenTarget;
  container: string;
  targets: string[];
}

/**
 * Opens a subscription with a new id and secret, and stores only the secret's hash. The receiver knows the subscription before the vendor
 * does.
 * @param heardSinceAt start of notifications for the calendar, by this or the previous subscription
 * @throws MirrorError from the connector
 */
async function openSubscription(
  tenant: SubscribedTenant,
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

/** Returns expiry and renewal of a subscription: renewal after half of the lifetime leaves time for many attempts. */
function lifeOf({ expiresAt }: Subscription, now: Instant): Pick<StoredSubscription, 'renewAt' | 'expiresAt'> {
  return { renewAt: now + (expiresAt - now) / 2, expiresAt };
}

/**
 * Closes a subscription. Its notifications are ignored from now on, whatever the vendor answers.
 * @throws MirrorError from the connector
 */
async function closeSubscription(
  { notifications }: { notifications: TenantNotifications },
  subscription: StoredSubscription,
  signal: AbortSignal,
): Promise<void> {
  await notifications.directory.remove(subscription.id);
  await notifications.subscriptionsOf(subscription)?.close(subscription, signal);
}

/** Returns the connector's notification functions. */
function subscriptionsOf({ id, connector }: OpenTarget): Subscriptions {
  if (connector.subscriptions === undefined) throw new Error(`the connector of "${id}" has no notifications`);
  return connector.subscriptions;
}

/** Returns the URL for the vendor's notifications, which does not reveal the calendar's owner. */
function addressOf({ notifications }: { notifications: TenantNotifications }, connector: string, id: string): string {
  return `${notifications.url}${NOTIFICATIONS_PATH}/${connector}/${id}`;
}

/** Maximum time that a disconnect waits for a vendor to close its subscriptions. */
const FAREWELL_MS = 10 * SECOND_MS;
const LEASE = 'subscriptions';

interface Work {
  tenant: SubscribedTenant;
  lease: Lease;
  signal: AbortSignal;
  /** Targets with new notifications. */
  opened: string[];
}

/** One target's run, with the current state of its subscriptions. */
interface SubscriptionRun extends Work {
  target: string;
  current: TargetSubscriptions;
}

/**
 * Maintains the notification subscriptions of a tenant's targets: opens, renews and replaces them, and closes obsolete ones. One target's
 * failure does not stop the others.
 * @param options.hurry retry failed subscriptions immediately, because an administrator acted
 * @returns targets with new notifications, whose earlier changes were not reported; null if another worker runs the maintenance
 */
export async function maintainSubscriptions(
  tenant: SubscribedTenant,
  options: { hurry: boolean },
  { stop, abort }: StopSignals,
): Promise<{ opened: string[] } | null> {
  const lease = await tenant.leases.tryTake(LEASE, 'upkeep');
  if (lease === null) return null;
  try {
    const work: Work = { tenant, lease, signal: AbortSignal.any([abort, lease.signal]), opened: [] };
    const all = await tenant.notifications.store.readReadable();
    const calendars = await wantedCalendars(tenant);
    for (const target of new Set([...calendars.keys(), ...all.keys()])) {
      if (stop.aborted) break;
      const stored = all.get(target) ?? NO_SUBSCRIPTIONS;
      if (!options.hurry && rests(stored, tenant.clock())) continue;
      await attempt({ ...work, target, current: stored }, calendars.get(target));
    }
    return { opened: work.opened };
  } finally {
    await lease.release();
  }
}

/**
 * Closes the subscriptions of a connection before it ends, as far as possible. Whatever the vendor answers, later notifications are
 * ignored. New subscriptions are blocked until `logOut` has ended.
 */
export async function withoutSubscriptions<Result>(
  tenant: NotifiedTenant,
  connection: string,
  logOut: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const farewell = AbortSignal.any([signal, AbortSignal.timeout(FAREWELL_MS)]);
  const lease = await tenant.leases.take(LEASE, FAREWELL_MS, signal).catch(() => null);
  try {
    await sayGoodbye(tenant, connection, lease, farewell).catch((error) => {
      tenant.log.warn({ connection, code: asMirrorError(error).code }, 'notifications could not be stopped');
    });
    return await logOut();
  } finally {
    await lease?.release().catch(() => {});
  }
}

async function sayGoodbye(tenant: NotifiedTenant, connection: string, lease: Lease | null, signal: AbortSignal) {
  const { store, directory } = tenant.notifications;
  for (const [target, { current, closing }] of await store.read()) {
    const all = current === null ? closing : [...closing, current];
    const going = all.filter((subscription) => subscription.connection === connection);
    if (going.length === 0) continue;
    await Promise.all(going.map(({ id }) => directory.remove(id)));
    const remaining = {
      current: current?.connection === connection ? null : current,
      closing: closing.filter((subscription) => subscription.connection !== connection),
      failure: null,
    };
    if (lease !== null) await store.write(target, remaining, lease);
    await Promise.all(going.map((subscription) => closeSubscription(tenant, subscription, signal).catch(() => {})));
  }
}

/**
 * Returns calendars by the target under whose name the subscription is stored. Two targets with one calendar share a subscription, because
 * Graph allows only one.
 */
async function wantedCalendars(tenant: SubscribedTenant): Promise<Map<string, HeardCalendar>> {
  const calendars = new Map<string, HeardCalendar>();
  if (tenant.notifications.url === null || tenant.configuration.paused) return calendars;
  for (const target of tenant.targets.values()) {
    if (target.configuration.paused || target.connector.subscriptions === undefined) continue;
    const { container } = await tenant.targetStore.read(target.id);
    if (container === null) continue;
    const first = [...calendars.values()].find(
      (calendar) => calendar.container === container && isSameLogin(calendar.target, target),
    );
    if (first === undefined) calendars.set(target.id, { target, container, targets: [target.id] });
    else first.targets.push(target.id);
  }
  return calendars;
}

function isSameLogin({ configuration: one }: OpenTarget, { configuration: other }: OpenTarget): boolean {
  return one.connector === other.connector && one.connection === other.connection;
}

/** A failed target is delayed, with its code for the status; only a lost lease or the daemon's shutdown ends the complete run. */
async function attempt(run: SubscriptionRun, calendar: HeardCalendar | undefined): Promise<void> {
  const { tenant, target, signal } = run;
  signal.throwIfAborted();
  const before = run.current.failure;
  try {
    if (calendar === undefined) await end(run);
    else await maintain(run, calendar);
    if (run.current.failure !== null) await save(run, { failure: null });
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    if (failure.code === 'lease-lost') throw failure;
    const now = tenant.clock();
    const sinceAt = before?.code === failure.code ? before.sinceAt : now;
    const retryAt = now + backoffMs(failure, tenant.random, now - sinceAt);
    await save(run, { failure: { code: failure.code, sinceAt, retryAt } });
    if (before?.code === failure.code) return;
    const { code, actor, status } = failure;
    tenant.log.warn({ target, code, actor, status }, 'notifications of a target could not be renewed');
  }
}

async function save(run: SubscriptionRun, changes: Partial<TargetSubscriptions>): Promise<void> {
  const stored = { ...run.current, ...changes };
  await run.tenant.notifications.store.write(run.target, stored, run.lease);
  run.current = stored;
}

/** A time later than any delay of clinic-mirror was set while the clock ran ahead. */
function rests({ failure }: TargetSubscriptions, now: Instant): boolean {
  return failure !== null && failure.retryAt > now && failure.retryAt <= now + IMPOSSIBLE_WAIT_MS;
}

/** A subscription opened without an answer continues until it expires, so few attempts are made. */
function backoffMs(error: MirrorError, random: () => number, failingForMs: number): number {
  const delayMs = targetBackoffMs(error, random, failingForMs);
  return error.ambiguous ? Math.max(delayMs, HOUR_MS) : delayMs;
}

/** No subscription is required: the target was paused or removed, has no calendar, or another target holds the subscription. */
async function end(run: SubscriptionRun): Promise<void> {
  const { current, closing } = run.current;
  if (current !== null) await save(run, { current: null, closing: [...closing, current] });
  await closeRetired(run);
}

async function maintain(run: SubscriptionRun, calendar: HeardCalendar): Promise<void> {
  await sortOut(run, calendar);
  // Before the new subscription is requested: an old one blocks a new one if the vendor allows only one per calendar. A failure does not
  // block the request.
  const failure = await closeRetired(run).catch(asMirrorError);
  const { current } = run.current;
  if (current === null) {
    await storeOpened(run, await openSubscription(run.tenant, calendar, run.tenant.clock(), run.signal), null);
    run.opened.push(...calendar.targets);
  } else {
    await tend(run, calendar, current);
  }
  if (failure instanceof MirrorError) throw failure;
}

/**
 * Deletes expired subscriptions, and marks subscriptions for another calendar, connection or URL, or unknown to the receiver, for closing.
 */
async function sortOut(run: SubscriptionRun, { target, container }: HeardCalendar): Promise<void> {
  const { tenant } = run;
  const { current, closing } = run.current;
  if (current === null) return;
  const addressee = await tenant.notifications.directory.find(current.id);
  if (current.expiresAt <= tenant.clock() || addressee?.asked === 'ended') {
    await tenant.notifications.directory.remove(current.id);
    return save(run, { current: null });
  }
  const { connector, connection } = target.configuration;
  const fits =
    addressee !== null &&
    current.container === container &&
    current.connector === connector &&
    current.connection === connection &&
    current.address === addressOf(tenant, connector, current.id);
  if (!fits) await save(run, { current: null, closing: [...closing, current] });
}

/** Renews a due subscription. If the vendor cannot renew, a new one is opened before this one is closed. */
async function tend(run: SubscriptionRun, calendar: HeardCalendar, current: StoredSubscription): Promise<void> {
  const { tenant, signal } = run;
  const { directory } = tenant.notifications;
  const addressee = await directory.find(current.id);
  if (addressee === null) return;
  const { targets } = calendar;
  if (addressee.targets.join() !== targets.join()) {
    await directory.put(current.id, { ...addressee, targets }, current.expiresAt);
  }
  const now = tenant.clock();
  if (current.renewAt > now && addressee.asked !== 'extend') return;
  const extended = await subscriptionsOf(calendar.target).extend(current, now + CHANNEL_LIFE_MS, signal);
  if (extended === null) {
    await storeOpened(run, await openSubscription(tenant, calendar, current.heardSinceAt, signal), current);
    return closeRetired(run);
  }
  await save(run, { current: { ...current, handle: extended.handle, ...lifeOf(extended, now) } });
  await directory.put(current.id, { ...addressee, targets, asked: null }, extended.expiresAt);
}

/** Stores a new subscription. If it cannot be stored, it is closed as far as possible, because nothing would maintain it. */
async function storeOpened(
  run: SubscriptionRun,
  opened: StoredSubscription,
  former: StoredSubscription | null,
): Promise<void> {
  const { tenant, signal, current } = run;
  const closing = former === null ? current.closing : [...current.closing, former];
  try {
    await save(run, { current: opened, closing });
  } catch (error) {
    await closeSubscription(tenant, opened, signal).catch(() => {});
    throw error;
  }
}

/**
 * Closes marked subscriptions and stores the progress.
 * @throws the last vendor's error
 */
async function closeRetired(run: SubscriptionRun): Promise<void> {
  let failure: unknown = null;
  for (const subscription of run.current.closing) {
    try {
      if (subscription.expiresAt > run.tenant.clock()) await closeSubscription(run.tenant, subscription, run.signal);
    } catch (error) {
      run.signal.throwIfAborted();
      failure = error;
      continue;
    }
    await save(run, { closing: run.current.closing.filter(({ id }) => id !== subscription.id) });
  }
  if (failure !== null) throw failure;
}
