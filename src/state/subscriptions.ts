import { createHash, timingSafeEqual } from 'node:crypto';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { FENCE, fencedError, isFenced, type Lease } from './leases.ts';
import type { RedisClient } from './redis.ts';

/** A vendor's promise to tell us of changes, as it is kept. The secret is not in it. */
export interface KeptSubscription {
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
  current: KeptSubscription | null;
  /** Subscriptions that are no longer wanted and not yet known to be ended. */
  closing: readonly KeptSubscription[];
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

/** Finds subscriptions by id, of all tenants: all that a request from outside can reach. */
export interface SubscriptionDirectory {
  /** One GET. @returns null for an unknown or ended subscription */
  find(id: string): Promise<SubscriptionAddressee | null>;
  /** Remembers what the vendor asked for; a subscription that is gone stays gone. */
  ask(id: string, addressee: SubscriptionAddressee, asked: VendorSubscriptionRequest): Promise<void>;
  /** @param untilAt when it is forgotten by itself */
  put(id: string, addressee: SubscriptionAddressee, untilAt: Instant): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The notifications of one tenant's targets. Writes are fenced by the lease that keeps two workers from opening two subscriptions. */
export interface SubscriptionStore {
  /** By target, those included that are no longer configured. */
  read(): Promise<Map<string, TargetSubscriptions>>;
  /** @throws MirrorError `conflict`, code `lease-lost`, when somebody else looks after the subscriptions by now */
  write(target: string, subscriptions: TargetSubscriptions, lease: Lease): Promise<void>;
}

/** Nothing is open, nothing is amiss. */
export const NO_SUBSCRIPTIONS: TargetSubscriptions = { current: null, closing: [], failure: null };

const WRITE = `${FENCE}if ARGV[3] == '' then return redis.call('HDEL', KEYS[2], ARGV[2]) end
return redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])`;

/** Opens the subscriptions of a tenant. */
export function createSubscriptionStore(redis: RedisClient, tenant: string): SubscriptionStore {
  const key = keys.subscriptions(tenant);
  return {
    async read() {
      const fields = Object.entries(await redis.hgetall(key));
      return new Map(fields.map(([target, value]) => [target, JSON.parse(value) as TargetSubscriptions]));
    },
    async write(target, subscriptions, lease) {
      const { current, closing, failure } = subscriptions;
      const isEmpty = current === null && closing.length === 0 && failure === null;
      try {
        await redis.eval(WRITE, 2, lease.key, key, lease.token, target, isEmpty ? '' : JSON.stringify(subscriptions));
      } catch (error) {
        if (isFenced(error)) throw fencedError();
        throw error;
      }
    },
  };
}

/** Opens the directory of all subscriptions. */
export function createSubscriptionDirectory(redis: RedisClient, clock: () => Instant): SubscriptionDirectory {
  return {
    async find(id) {
      const value = await redis.get(keys.subscription(id));
      return value === null ? null : (JSON.parse(value) as SubscriptionAddressee);
    },
    async ask(id, addressee, asked) {
      await redis.set(keys.subscription(id), JSON.stringify({ ...addressee, asked }), 'KEEPTTL', 'XX');
    },
    async put(id, addressee, untilAt) {
      const lifeMs = Math.max(MINUTE_MS, Math.round(untilAt - clock()));
      await redis.set(keys.subscription(id), JSON.stringify(addressee), 'PX', lifeMs);
    },
    async remove(id) {
      await redis.del(keys.subscription(id));
    },
  };
}

/** What is kept of a subscription's secret. */
export function subscriptionSecretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** Whether a secret is the subscription's; takes the same time whichever it is. */
export function isSubscriptionSecret(secret: string, secretHash: string): boolean {
  const given = Buffer.from(subscriptionSecretHash(secret));
  const kept = Buffer.from(secretHash);
  return given.length === kept.length && timingSafeEqual(given, kept);
}
