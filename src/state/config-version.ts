import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { slices } from '../model/pieces.ts';
import type { Clock, Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { Lease, Leases } from './leases.ts';
import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';

const registerConfiguration = redisScript<number>(import.meta.url, 'config-version-register');
const checkConfiguration = redisScript<number>(import.meta.url, 'config-version-check');

/** Name of the lease of a tenant's planner. */
export const PLAN_LEASE = 'plan';

/** Name of the lease of whoever reads what a tenant's CRMs follow beside appointments. */
export const STREAMS_LEASE = 'streams';

/** Name of the lease of a target's lane. */
export function laneLease(target: string): string {
  return `lane-${target}`;
}

/** Code of the error of a process that works under an older configuration than another one does. */
export const SUPERSEDED = 'configuration-superseded';

/** The configuration that a process works under, among those of all processes of a tenant. */
export interface ConfigVersion {
  /**
   * Takes its number: that of the newest configuration when it is the same one, else the next, which ends whatever others plan or write.
   * Only the first call does.
   * @param options.isTakenUp the tenant was taken off the list of removed ones just before
   * @param options.anew takes a number as the first call did: this process has read its files again
   * @throws MirrorError `settings`, code `configuration-superseded`, when it has ended without one
   */
  join(options?: { isTakenUp?: boolean; anew?: boolean }): Promise<number>;
  /** Whether no process took a newer one since; after `join`. One that is the same as ours is ours. */
  isNewest(): Promise<boolean>;
  /** This process works under it no longer: nothing is planned or written that was begun under it. */
  end(): void;
  hasEnded(): boolean;
  /** What is known of the newest one. Takes no number. */
  newest(): Promise<NewestConfigVersion>;
}

/** What is known of the newest configuration of a tenant. */
export interface NewestConfigVersion {
  /** 0 before the first process. */
  number: number;
  /** Whether it is the one of this process. */
  isOurs: boolean;
  /** When a process with an older one was last kept from working; null when none ever was. */
  refusedAt: Instant | null;
}

/** What a generation is opened with. */
export interface ConfigVersionOptions {
  redis: RedisClient;
  tenant: string;
  /** Hash of everything that decides what is planned. */
  hash: string;
  /** The configured targets: their lanes end when a newer configuration comes, and none of them counts as removed. */
  targets: readonly string[];
  clock: Clock;
}

/** Opens the generation of a process. Nothing is registered before `join`: whoever only looks changes nothing. */
export function createConfigVersion({ redis, tenant, hash, targets, clock }: ConfigVersionOptions): ConfigVersion {
  const key = keys.configuration(tenant);
  const serializedTargets = JSON.stringify(targets);
  let joined: Promise<number> | null = null;
  let isEnded = false;
  async function register(isTakenUp: boolean): Promise<number> {
    // Before anything else, so that whoever is releasing what was left of this tenant either sees it or loses its lease.
    if (!isTakenUp) await redis.hdel(keys.removedTenants(), tenant);
    for (;;) {
      // Whatever of it is still at work takes no number any more.
      if (isEnded) throw superseded();
      const [number = null, storedTargets = null, newest = null] = await redis.hmget(key, 'number', 'targets', 'hash');
      if (newest === hash && number !== null) return Number(number);
      const leases = leaseKeys(tenant, new Set([...targets, ...(JSON.parse(storedTargets ?? '[]') as string[])]));
      const answer = await registerConfiguration(redis, [key, ...leases], [number ?? 0, hash, serializedTargets]);
      if (answer === -1) continue;
      if (targets.length > 0) await redis.hdel(keys.removed(tenant), ...targets.map((target) => `target/${target}`));
      return answer;
    }
  }
  const join = ({ isTakenUp = false, anew = false } = {}) => {
    if (anew) joined = null;
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
        number: Number(number ?? 0),
        isOurs: newest === null || newest === hash,
        refusedAt: refusedAt === null ? null : Number(refusedAt),
      };
    },
  };
}

/** Tenants whose generations join at once. */
const JOINED_AT_ONCE = 500;

/** Joins the generations of many tenants, by their ids. One whose configuration is the newest already costs one look. */
export async function joinAll(
  redis: RedisClient,
  configVersions: ReadonlyMap<string, ConfigVersion>,
  { anew = false } = {},
): Promise<void> {
  for (const some of slices([...configVersions], JOINED_AT_ONCE)) {
    await redis.hdel(keys.removedTenants(), ...some.map(([tenant]) => tenant));
    await Promise.all(some.map(([, configVersion]) => configVersion.join({ isTakenUp: true, anew })));
  }
}

/** Takes the leases of planner, reader of streams and lanes from whoever holds them: this process has released the tenant, and nothing late is written. */
export async function takeLeases(redis: RedisClient, tenant: string): Promise<void> {
  const targets = await redis.hget(keys.configuration(tenant), 'targets');
  await redis.del(...leaseKeys(tenant, JSON.parse(targets ?? '[]') as string[]));
}

function leaseKeys(tenant: string, targets: Iterable<string>): string[] {
  return [PLAN_LEASE, STREAMS_LEASE, ...[...targets].map(laneLease)].map((name) => keys.lease(tenant, name));
}

/**
 * Leases of a process that plans and writes under one configuration. Those of planner, reader of streams and lanes are had by the newest
 * alone: a newer one takes them away from whoever holds them, in the step in which it gets its number, so that nothing late is written.
 * @param onSuperseded told once, and again when it was the newest in between; not when this process itself has read a newer one
 * Both methods throw MirrorError `settings`, code `configuration-superseded`.
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
