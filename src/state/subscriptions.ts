import { createHash, timingSafeEqual } from 'node:crypto';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { Lease } from './leases.ts';
import type { RedisClient } from './redis.ts';
import { fencedScript } from './script.ts';
import { createProofSealer, openSealed, type Sealer } from './sealing.ts';

const setFields = fencedScript<number>(import.meta.url, 'fenced-set');

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
  /** @param untilAt when it is dropped by itself */
  put(id: string, addressee: SubscriptionAddressee, untilAt: Instant): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The notifications of one tenant's targets. Writes are fenced by the lease that keeps two workers from opening two subscriptions. */
export interface SubscriptionStore {
  /** By target, those included that are no longer configured; what we did not write is as if it were not there. */
  read(): Promise<Map<string, TargetSubscriptions>>;
  /**
   * Takes out what we did not write: another subscription is opened, and the vendor ends what was there when its time is over.
   * @returns of how many targets
   */
  dropForged(): Promise<number>;
  /** @throws MirrorError `conflict`, code `lease-lost`, when somebody else looks after the subscriptions by now */
  write(target: string, subscriptions: TargetSubscriptions, lease: Lease): Promise<void>;
}

/** Nothing is open, nothing is amiss. */
export const NO_SUBSCRIPTIONS: TargetSubscriptions = { current: null, closing: [], failure: null };

/** Opens the subscriptions of a tenant. @param sealer seals with the identity key: what vendors are asked to end and to post to is ours */
export function createSubscriptionStore(redis: RedisClient, tenant: string, sealer: Sealer): SubscriptionStore {
  const key = keys.subscriptions(tenant);
  const contextOf = (target: string) => `subscriptions/${target}`;
  const all = async () =>
    Object.entries(await redis.hgetall(key)).map(
      ([target, sealed]) => [target, openSealed<TargetSubscriptions>(sealer, sealed, contextOf(target))] as const,
    );
  return {
    async read() {
      return new Map((await all()).flatMap(([target, kept]) => (kept === null ? [] : [[target, kept] as const])));
    },
    async dropForged() {
      const forged = (await all()).flatMap(([target, kept]) => (kept === null ? [target] : []));
      return forged.length === 0 ? 0 : redis.hdel(key, ...forged);
    },
    async write(target, subscriptions, lease) {
      const { current, closing, failure } = subscriptions;
      const isEmpty = current === null && closing.length === 0 && failure === null;
      const written = isEmpty ? '' : sealer.seal(JSON.stringify(subscriptions), contextOf(target));
      await setFields(redis, lease, [key], [target, written]);
    },
  };
}

/**
 * Opens the directory of all subscriptions.
 * @param identityKey the installation's, 32 bytes: an entry that was not made with it is unknown
 */
export function createSubscriptionDirectory(
  redis: RedisClient,
  identityKey: Uint8Array,
  clock: () => Instant,
): SubscriptionDirectory {
  const sealer = createProofSealer(identityKey, '{subscriptions}');
  const sealed = (id: string, addressee: SubscriptionAddressee) => sealer.seal(JSON.stringify(addressee), id);
  return {
    async find(id) {
      const value = await redis.get(keys.subscription(id));
      return value === null ? null : openSealed<SubscriptionAddressee>(sealer, value, id);
    },
    async ask(id, addressee, asked) {
      await redis.set(keys.subscription(id), sealed(id, { ...addressee, asked }), 'KEEPTTL', 'XX');
    },
    async put(id, addressee, untilAt) {
      const lifeMs = Math.max(MINUTE_MS, Math.round(untilAt - clock()));
      await redis.set(keys.subscription(id), sealed(id, addressee), 'PX', lifeMs);
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
