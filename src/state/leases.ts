import { randomUUID } from 'node:crypto';
import { MirrorError } from '../model/errors.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** The right to do one thing alone for a while. Writes that it protects check `token` in the same script. */
export interface Lease {
  readonly name: string;
  /** Key that holds the token while the lease lives. */
  readonly key: string;
  /** `<fencing number>:<owner>`: grows with each holder, so a late one can be told apart. */
  readonly token: string;
  /** Aborted when the lease was lost or could not be renewed in time. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Takes and keeps leases of one tenant. */
export interface Leases {
  /** Tries once. @returns null when somebody else holds it */
  tryTake(name: string): Promise<Lease | null>;
  /** Waits for it. @throws MirrorError `remote`, code `lease-busy`, when `waitMs` passes */
  take(name: string, waitMs: number, signal: AbortSignal): Promise<Lease>;
}

const TAKE = `
if redis.call('EXISTS', KEYS[1]) == 1 then return false end
local token = redis.call('INCR', KEYS[2]) .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return token`;

const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** Lua that a fenced script begins with: KEYS[1] is the lease's key, ARGV[1] its token. */
export const FENCE = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED') end\n`;

/** The error of a write whose lease was lost: the work is done again by whoever holds it now. */
export function fencedError(): MirrorError {
  return new MirrorError('the lease was lost, nothing was written', {
    actor: 'conflict',
    code: 'lease-lost',
    retry: 'later',
  });
}

/** Whether an error of Redis is that of a fenced script. */
export function isFenced(error: unknown): boolean {
  return error instanceof Error && error.message.includes('FENCED');
}

/** @param ttlMs a holder that died is succeeded after this time; a living one renews at a third of it */
export function createLeases(redis: RedisClient, tenant: string, ttlMs: number): Leases {
  async function tryTake(name: string): Promise<Lease | null> {
    const key = keys.lease(tenant, name);
    const token = await redis.eval(TAKE, 2, key, keys.fence(tenant, name), randomUUID(), ttlMs);
    return typeof token === 'string' ? keepAlive(redis, { name, key, token }, ttlMs) : null;
  }
  async function take(name: string, waitMs: number, signal: AbortSignal): Promise<Lease> {
    const deadline = performance.now() + waitMs;
    for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
      signal.throwIfAborted();
      const lease = await tryTake(name);
      if (lease !== null) return lease;
      if (performance.now() + pauseMs > deadline) throw busy(name);
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }
  return { tryTake, take };
}

function keepAlive(redis: RedisClient, held: Pick<Lease, 'name' | 'key' | 'token'>, ttlMs: number): Lease {
  const lost = new AbortController();
  let renewedAt = performance.now();
  const timer = setInterval(() => {
    redis.eval(RENEW, 1, held.key, held.token, ttlMs).then(
      (renewed) => {
        if (renewed === 1) renewedAt = performance.now();
        else lost.abort(fencedError());
      },
      () => {},
    );
    if (performance.now() - renewedAt > ttlMs) lost.abort(fencedError());
  }, ttlMs / 3);
  timer.unref();
  return {
    ...held,
    signal: lost.signal,
    async release() {
      clearInterval(timer);
      await redis.eval(RELEASE, 1, held.key, held.token);
    },
  };
}

function busy(name: string): MirrorError {
  return new MirrorError(`somebody else is at work on "${name}"`, {
    actor: 'remote',
    code: 'lease-busy',
    retry: 'later',
  });
}
