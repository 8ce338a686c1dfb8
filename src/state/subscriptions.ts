import { hash, timingSafeEqual } from 'node:crypto';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { Lease } from './leases.ts';
import type { RedisClient } from './redis.ts';
import { createProofSealer, type Sealer, sealedTable, sealedValue } from './sealing.ts';

/** A vendor's promise to tell us of changes, as it is kept. The secret is not in it. */
export interface StoredSubscription {
  /** A part of the address: 32 hexadecimal characters of chance. */
  id: string;
  connector: string;
  connection: string;
  /** The connector's own part of the target's configuration when the subscription was opened: enough to end it when the target is gone. */
  settings: unknown;
  container: string;
  /** What the vendor is to post to. */
  address: string;
  /** The vendor's own name for it: opaque. */
  handle: string;
  /** Since when one subscription has followed the other without a gap. */
  heardSinceAt: Instant;
  /** When it is to be prolonged or followed by another. */
  renewAt: Instant;
  expiresAt: Instant;
}

/** What keeps a target from being told of changes. */
export interface SubscriptionFailure {
  code: string;
  sinceAt: Instant;
  retryAt: Instant;
}

/** All that is known of one target's notifications. */
export interface TargetSubscriptions {
  current: StoredSubscription | null;
  /** Subscriptions that are no longer wanted and not yet known to be ended. */
  closing: readonly StoredSubscription[];
  failure: SubscriptionFailure | null;
}

/** What the vendor asked for concerning a subscription itself. */
export type VendorSubscriptionRequest = 'extend' | 'ended';

/** What the receiver has to know of a subscription. */
export interface SubscriptionAddressee {
  tenant: string;
  connector: string;
  /** Every target that writes to the calendar. */
  targets: readonly string[];
  secretHash: string;
  /** Until the vendor has answered: only then it may check the address. */
  isOpening: boolean;
  asked: VendorSubscriptionRequest | null;
}

/** Nothing is open, nothing is amiss. */
export const NO_SUBSCRIPTIONS: TargetSubscriptions = { current: null, closing: [], failure: null };

/** The notifications of one tenant's targets. Writes are fenced by the lease that keeps two workers from opening two subscriptions. */
export type SubscriptionStore = ReturnType<typeof createSubscriptionStore>;

/** Opens the subscriptions of a tenant. @param sealer seals with the identity key: what vendors are asked to end and to post to is ours */
export function createSubscriptionStore(redis: RedisClient, tenant: string, sealer: Sealer) {
  const stored = sealedTable<TargetSubscriptions>(keys.subscriptions(tenant), { redis, sealer });
  return {
    /** By target, those included that are no longer configured; what we did not write is as if it were not there. */
    read: stored.all,
    /**
     * Takes out what we did not write: another subscription is opened, and the vendor ends what was there when its time is over.
     * @returns of how many targets
     */
    dropForged: stored.dropForged,
    /** @throws MirrorError `conflict`, code `lease-lost`, when somebody else looks after the subscriptions by now */
    async write(target: string, subscriptions: TargetSubscriptions, lease: Lease): Promise<void> {
      const { current, closing, failure } = subscriptions;
      const isEmpty = current === null && closing.length === 0 && failure === null;
      await stored.setFenced(target, isEmpty ? null : subscriptions, lease);
    },
  };
}

/** Finds subscriptions by id, of all tenants: all that a request from outside can reach. */
export type SubscriptionDirectory = ReturnType<typeof createSubscriptionDirectory>;

/**
 * Opens the directory of all subscriptions.
 * @param identityKey the installation's, 32 bytes: an entry that was not made with it is unknown
 */
export function createSubscriptionDirectory(redis: RedisClient, identityKey: Uint8Array, clock: () => Instant) {
  const sealer = createProofSealer(identityKey, '{subscriptions}');
  const addresseeOf = (id: string) => sealedValue<SubscriptionAddressee>(keys.subscription(id), { redis, sealer });
  return {
    /** One GET. @returns null for an unknown or ended subscription */
    find: (id: string) => addresseeOf(id).get(),
    /** Remembers what the vendor asked for; a subscription that is gone stays gone. */
    async ask(id: string, addressee: SubscriptionAddressee, asked: VendorSubscriptionRequest): Promise<void> {
      await redis.set(keys.subscription(id), addresseeOf(id).seal({ ...addressee, asked }), 'KEEPTTL', 'XX');
    },
    /** @param untilAt when it is dropped by itself */
    put: (id: string, addressee: SubscriptionAddressee, untilAt: Instant) =>
      addresseeOf(id).setFor(Math.max(MINUTE_MS, Math.round(untilAt - clock())), addressee),
    async remove(id: string): Promise<void> {
      await redis.del(keys.subscription(id));
    },
  };
}

/** What is kept of a subscription's secret. */
export function subscriptionSecretHash(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Whether a secret is the subscription's; takes the same time whichever it is. */
export function isSubscriptionSecret(secret: string, secretHash: string): boolean {
  const shown = Buffer.from(subscriptionSecretHash(secret));
  const expected = Buffer.from(secretHash);
  return shown.length === expected.length && timingSafeEqual(shown, expected);
}
