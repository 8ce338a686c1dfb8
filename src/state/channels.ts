import { createHash, timingSafeEqual } from 'node:crypto';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { FENCE, fencedError, isFenced, type Lease } from './leases.ts';
import type { RedisClient } from './redis.ts';

/** A vendor's promise to tell us of changes, as it is kept. The secret is not in it. */
export interface KeptChannel {
  /** A part of the address: 32 hexadecimal characters of chance. */
  id: string;
  connector: string;
  connection: string;
  /** The connector's own part of the target's configuration when the channel was opened: enough to end it when the target is gone. */
  settings: unknown;
  container: string;
  /** What the vendor is to post to. */
  address: string;
  /** The vendor's own name for it: opaque. */
  handle: string;
  /** Since when one channel has followed the other without a gap. */
  heardSinceAt: Instant;
  /** When it is to be prolonged or followed by another. */
  renewAt: Instant;
  expiresAt: Instant;
}

/** What keeps a target from being told of changes. */
export interface ChannelTrouble {
  code: string;
  sinceAt: Instant;
  retryAt: Instant;
}

/** All that is known of one target's notifications. */
export interface TargetChannels {
  current: KeptChannel | null;
  /** Channels that are no longer wanted and not yet known to be ended. */
  closing: readonly KeptChannel[];
  trouble: ChannelTrouble | null;
}

/** What the vendor asked for concerning a channel itself. */
export type ChannelRequestFromVendor = 'extend' | 'ended';

/** What the receiver has to know of a channel. */
export interface ChannelAddressee {
  tenant: string;
  connector: string;
  /** Every target that writes to the calendar. */
  targets: readonly string[];
  secretHash: string;
  /** Until the vendor has answered: only then it may check the address. */
  isOpening: boolean;
  asked: ChannelRequestFromVendor | null;
}

/** Finds channels by id, of all tenants: all that a request from outside can reach. */
export interface ChannelDirectory {
  /** One GET. @returns null for an unknown or ended channel */
  find(id: string): Promise<ChannelAddressee | null>;
  /** Remembers what the vendor asked for; a channel that is gone stays gone. */
  ask(id: string, addressee: ChannelAddressee, asked: ChannelRequestFromVendor): Promise<void>;
  /** @param untilAt when it is forgotten by itself */
  put(id: string, addressee: ChannelAddressee, untilAt: Instant): Promise<void>;
  remove(id: string): Promise<void>;
}

/** The notifications of one tenant's targets. Writes are fenced by the lease that keeps two workers from opening two channels. */
export interface ChannelStore {
  /** By target, those included that are no longer configured. */
  read(): Promise<Map<string, TargetChannels>>;
  /** @throws MirrorError `conflict`, code `lease-lost`, when somebody else looks after the channels by now */
  write(target: string, channels: TargetChannels, lease: Lease): Promise<void>;
}

/** Nothing is open, nothing is amiss. */
export const NO_CHANNELS: TargetChannels = { current: null, closing: [], trouble: null };

const WRITE = `${FENCE}if ARGV[3] == '' then return redis.call('HDEL', KEYS[2], ARGV[2]) end
return redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])`;

/** Opens the channels of a tenant. */
export function createChannelStore(redis: RedisClient, tenant: string): ChannelStore {
  const key = keys.channels(tenant);
  return {
    async read() {
      const fields = Object.entries(await redis.hgetall(key));
      return new Map(fields.map(([target, value]) => [target, JSON.parse(value) as TargetChannels]));
    },
    async write(target, channels, lease) {
      const { current, closing, trouble } = channels;
      const isEmpty = current === null && closing.length === 0 && trouble === null;
      try {
        await redis.eval(WRITE, 2, lease.key, key, lease.token, target, isEmpty ? '' : JSON.stringify(channels));
      } catch (error) {
        if (isFenced(error)) throw fencedError();
        throw error;
      }
    },
  };
}

/** Opens the directory of all channels. */
export function createChannelDirectory(redis: RedisClient, clock: () => Instant): ChannelDirectory {
  return {
    async find(id) {
      const value = await redis.get(keys.channel(id));
      return value === null ? null : (JSON.parse(value) as ChannelAddressee);
    },
    async ask(id, addressee, asked) {
      await redis.set(keys.channel(id), JSON.stringify({ ...addressee, asked }), 'KEEPTTL', 'XX');
    },
    async put(id, addressee, untilAt) {
      const lifeMs = Math.max(MINUTE_MS, Math.round(untilAt - clock()));
      await redis.set(keys.channel(id), JSON.stringify(addressee), 'PX', lifeMs);
    },
    async remove(id) {
      await redis.del(keys.channel(id));
    },
  };
}

/** What is kept of a channel's secret. */
export function channelSecretHash(secret: string): string {
  return createHash('sha256').update(secret).digest('base64url');
}

/** Whether a secret is the channel's; takes the same time whichever it is. */
export function isChannelSecret(secret: string, secretHash: string): boolean {
  const given = Buffer.from(channelSecretHash(secret));
  const kept = Buffer.from(secretHash);
  return given.length === kept.length && timingSafeEqual(given, kept);
}
