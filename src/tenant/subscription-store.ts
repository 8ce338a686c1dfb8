import { hash, timingSafeEqual } from 'node:crypto';
import { storable } from '../core/model/stored-limits.ts';
import { type Instant, MINUTE_MS } from '../core/model/time.ts';
import type { Lease } from '../engine/store.ts';
import { keys } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { createProofSealer, type Sealer, sealedTable, sealedValue } from '../state/sealing.ts';

/** Stored subscription of a vendor's change notifications, without the secret. */
export interface StoredSubscription {
  /** Last part of the notification URL: 32 random hexadecimal characters. */
  id: string;
  connector: string;
  connection: string;
  /** Connector settings of the target when the subscription was opened: enough to close the subscription of a removed target. */
  settings: unknown;
  container: string;
  /** Notification URL. */
  address: string;
  /** Vendor's id of the subscription: opaque. */
  handle: string;
  /** Start of the uninterrupted series of subscriptions. */
  heardSinceAt: Instant;
  /** Time for extending or replacing the subscription. */
  renewAt: Instant;
  expiresAt: Instant;
}

/** Reason why a target receives no notifications. */
export interface SubscriptionFailure {
  code: string;
  sinceAt: Instant;
  retryAt: Instant;
}

/** Notification state of one target. */
export interface TargetSubscriptions {
  current: StoredSubscription | null;
  /** Unwanted subscriptions that are not yet closed. */
  closing: readonly StoredSubscription[];
  failure: SubscriptionFailure | null;
}

/** Vendor's request about a subscription. */
export type VendorSubscriptionRequest = 'extend' | 'ended';

/** Subscription data for the receiver. */
export interface SubscriptionAddressee {
  tenant: string;
  connector: string;
  /** All targets that write to the container. */
  targets: readonly string[];
  secretHash: string;
  /** True until the vendor has answered: only then may the vendor validate the URL. */
  isOpening: boolean;
  asked: VendorSubscriptionRequest | null;
}

/** No subscription and no failure. */
export const NO_SUBSCRIPTIONS: TargetSubscriptions = { current: null, closing: [], failure: null };

/** Notification state of one tenant's targets. A lease fences writes, so that two workers do not open two subscriptions. */
export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/**
 * Opens the subscriptions of a tenant. @param sealer encrypts with the identity key, because vendors receive requests and URLs from this
 * data
 */
export function createSubscriptionStore(redis: RedisClient, tenant: string, sealer: Sealer) {
  const stored = sealedTable<TargetSubscriptions>(keys.subscriptions(tenant), { redis, sealer, kind: 'subscriptions' });
  return {
    /** Returns subscriptions by target, including targets that are no longer configured; damaged data is ignored. */
    read: stored.all,
    /** Reads after removing damaged data: a new subscription is opened, and the old subscription expires at the vendor. */
    readReadable: () => stored.prune(),
    /** @throws MirrorError `conflict`, code `lease-lost`, if a different process manages the subscriptions */
    async write(target: string, subscriptions: TargetSubscriptions, lease: Lease): Promise<void> {
      const { current, closing, failure } = subscriptions;
      for (const one of current === null ? closing : [current, ...closing]) storable('remoteId', one.handle);
      const isEmpty = current === null && closing.length === 0 && failure === null;
      await stored.setFenced(target, isEmpty ? null : subscriptions, lease);
    },
  };
}

/** Finds subscriptions of all tenants by id: the only data within reach of external requests. */
export type SubscriptionDirectory = ReturnType<typeof createSubscriptionDirectory>;

/**
 * Opens the directory of all subscriptions.
 * @param identityKey the installation's key, 32 bytes: data under a different key is unknown
 */
export function createSubscriptionDirectory(redis: RedisClient, identityKey: Uint8Array, clock: () => Instant) {
  const sealer = createProofSealer(identityKey, '{subscriptions}');
  const addresseeOf = (id: string) =>
    sealedValue<SubscriptionAddressee>(keys.subscription(id), { redis, sealer, kind: 'subscriptions' });
  return {
    /** Reads with one GET. @returns null for an unknown or ended subscription */
    find: (id: string) => addresseeOf(id).get(),
    /** Records the vendor's request; an ended subscription stays ended. */
    async ask(id: string, addressee: SubscriptionAddressee, asked: VendorSubscriptionRequest): Promise<void> {
      await redis.set(keys.subscription(id), addresseeOf(id).seal({ ...addressee, asked }), 'KEEPTTL', 'XX');
    },
    /** @param untilAt automatic expiry */
    put: (id: string, addressee: SubscriptionAddressee, untilAt: Instant) =>
      addresseeOf(id).setFor(Math.max(MINUTE_MS, Math.round(untilAt - clock())), addressee),
    async remove(id: string): Promise<void> {
      await redis.del(keys.subscription(id));
    },
  };
}

/** Returns the stored form of a subscription's secret. */
export function subscriptionSecretHash(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Compares a secret with a subscription's secret, in constant time. */
export function isSubscriptionSecret(secret: string, secretHash: string): boolean {
  const shown = Buffer.from(subscriptionSecretHash(secret));
  const expected = Buffer.from(secretHash);
  return shown.length === expected.length && timingSafeEqual(shown, expected);
}
