import { z } from 'zod';
import { MirrorError } from '../core/model/errors.ts';
import { slices } from '../core/model/pieces.ts';
import type { Clock, Instant } from '../core/model/time.ts';
import type { Lease } from '../engine/store.ts';
import { laneLease } from '../engine/store.ts';
import { message } from '../messages/message.ts';
import { openNumber, openPlain } from './damaged.ts';
import { keys } from './keys.ts';
import type { Leases } from './leases.ts';
import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';

const registerConfiguration = redisScript<number>(import.meta.url, 'config-version-register');
const checkConfiguration = redisScript<number>(import.meta.url, 'config-version-check');

/** Lease name of a tenant's planner. */
export const PLAN_LEASE = 'plan';

/** Lease name of the reader of the streams that are not read in each cycle. */
export const STREAMS_LEASE = 'streams';

/** Configuration of a process, compared with all processes of a tenant. */
export interface ConfigVersion {
  /**
   * Registers the configuration: takes the number of the newest configuration if equal, otherwise the next number, which ends planning and
   * writing under older configurations. Only the first call has an effect.
   * @param options.isTakenUp the tenant was just removed from the list of removed tenants
   * @param options.rejoins registers again after the process reloaded its files
   * @throws MirrorError `settings`, code `configuration-superseded`, if ended without a number
   */
  join(options?: { isTakenUp?: boolean; rejoins?: boolean }): Promise<number>;
  /** Returns whether no process registered a newer configuration; call after `join`. An equal configuration is the process's configuration. */
  isNewest(): Promise<boolean>;
  /** Ends the configuration in this process: work that started under the configuration no longer plans or writes. */
  end(): void;
  hasEnded(): boolean;
  /** Returns the newest configuration without registering. */
  newest(): Promise<NewestConfigVersion>;
}

/** Newest configuration of a tenant. */
export interface NewestConfigVersion {
  /** 0 before the first process. */
  number: number;
  /** Whether this process has the newest configuration. */
  isOurs: boolean;
  /** Last refusal of a process with an older configuration; null if never. */
  refusedAt: Instant | null;
}

export interface ConfigVersionOptions {
  redis: RedisClient;
  tenant: string;
  /** Hash of all settings that affect planning. */
  hash: string;
  /** Configured targets: their lanes end when a newer configuration is registered, and configured targets are not treated as removed. */
  targets: readonly string[];
  clock: Clock;
}

/** Opens the configuration of a process. `join` registers; read-only callers change nothing. */
export function createConfigVersion({ redis, tenant, hash, targets, clock }: ConfigVersionOptions): ConfigVersion {
  const key = keys.configuration(tenant);
  const serializedTargets = JSON.stringify(targets);
  let joined: Promise<number> | null = null;
  let isEnded = false;
  async function register(isTakenUp: boolean): Promise<number> {
    // First step, so that a process releasing this tenant's remains either sees the change or loses its lease.
    if (!isTakenUp) await redis.hdel(keys.removedTenants(), tenant);
    for (;;) {
      // Remaining work of an ended configuration must not register.
      if (isEnded) throw superseded();
      const [number = null, storedTargets = null, newest = null] = await redis.hmget(key, 'number', 'targets', 'hash');
      const registered = numberIn(tenant, number) ?? 0;
      if (newest === hash && registered > 0) return registered;
      const leases = leaseKeys(tenant, new Set([...targets, ...targetsIn(tenant, storedTargets)]));
      const answer = await registerConfiguration(redis, [key, ...leases], [number ?? 0, hash, serializedTargets]);
      if (answer === -1) continue;
      if (targets.length > 0) await redis.hdel(keys.removed(tenant), ...targets.map((target) => `target/${target}`));
      return answer;
    }
  }
  const join = ({ isTakenUp = false, rejoins = false } = {}) => {
    if (rejoins) joined = null;
    joined ??= register(isTakenUp).catch((error: unknown) => {
      joined = null;
      throw error;
    });
    return joined;
  };
  return {
    join,
    async isNewest() {
      if (isEnded) return false;
      const number = await checkConfiguration(redis, [key], [await join(), hash, serializedTargets, clock()]);
      if (number > 0) joined = Promise.resolve(number);
      return number > 0;
    },
    end() {
      isEnded = true;
    },
    hasEnded: () => isEnded,
    async newest() {
      const [number = null, newest = null, refusedAt = null] = await redis.hmget(key, 'number', 'hash', 'refusedAt');
      return {
        number: numberIn(tenant, number) ?? 0,
        isOurs: newest === null || newest === hash,
        refusedAt: numberIn(tenant, refusedAt),
      };
    },
  };
}

/** Concurrently joined tenants. */
const JOINED_AT_ONCE = 500;

/** Joins the configurations of many tenants, by id. A tenant whose configuration is already the newest costs one read. */
export async function joinAll(
  redis: RedisClient,
  configVersions: ReadonlyMap<string, ConfigVersion>,
  { rejoins = false } = {},
): Promise<void> {
  for (const some of slices([...configVersions], JOINED_AT_ONCE)) {
    await redis.hdel(keys.removedTenants(), ...some.map(([tenant]) => tenant));
    await Promise.all(some.map(([, configVersion]) => configVersion.join({ isTakenUp: true, rejoins })));
  }
}

/** Takes over the leases of planner, stream reader and lanes, because this process released the tenant: no late work may write. */
export async function takeLeases(redis: RedisClient, tenant: string): Promise<void> {
  const targets = await redis.hget(keys.configuration(tenant), 'targets');
  await redis.del(...leaseKeys(tenant, targetsIn(tenant, targets)));
}

const originOf = (tenant: string) => ({ owner: tenant, kind: 'configuration' }) as const;
const numberIn = (tenant: string, stored: string | null) => openNumber(stored, originOf(tenant));
const targetsIn = (tenant: string, stored: string | null) =>
  openPlain(stored, originOf(tenant), z.array(z.string())) ?? [];

function leaseKeys(tenant: string, targets: Iterable<string>): string[] {
  return [PLAN_LEASE, STREAMS_LEASE, ...[...targets].map(laneLease)].map((name) => keys.lease(tenant, name));
}

/**
 * Wraps leases for a process that plans and writes under one configuration. Only the newest configuration holds the leases of planner,
 * stream reader and lanes: registering a newer configuration removes the leases in one step, so that no late work writes. Both methods
 * throw MirrorError `settings`, code `configuration-superseded`.
 * @param onSuperseded called once, and again after an interim as the newest; not called if this process reloaded newer files
 */
export function leasesUnder(configVersion: ConfigVersion, leases: Leases, onSuperseded: () => void): Leases {
  let isReported = false;
  const isGoverned = (name: string) => name === PLAN_LEASE || name === STREAMS_LEASE || name.startsWith(laneLease(''));
  async function checked<Taken extends Lease | null>(name: string, take: () => Promise<Taken>): Promise<Taken> {
    if (!isGoverned(name)) return take();
    if (configVersion.hasEnded()) throw superseded();
    await configVersion.join();
    const lease = await take();
    if (await configVersion.isNewest()) {
      isReported = false;
      return lease;
    }
    await lease?.release();
    if (!isReported && !configVersion.hasEnded()) onSuperseded();
    isReported = true;
    throw superseded();
  }
  return {
    tryTake: (name, comesAgainAs) => checked(name, () => leases.tryTake(name, comesAgainAs)),
    take: (name, waitMs, signal) => checked(name, () => leases.take(name, waitMs, signal)),
  };
}

function superseded(): MirrorError {
  return new MirrorError(message('newer-configuration'), {
    actor: 'settings',
    code: 'configuration-superseded',
    retry: 'later',
    remedy: message('newer-configuration.remedy'),
  });
}
