import { randomUUID } from 'node:crypto';
import { MirrorError } from '../core/model/errors.ts';
import type { Progress } from '../core/model/tasks.ts';
import { SECOND_MS } from '../core/model/time.ts';
import type { Lease, LeaseTable } from '../engine/store.ts';
import { type Message, message } from '../messages/message.ts';
import { keys } from './keys.ts';
import { type Life, MARGIN_SHARE, type Processes, unregistered } from './processes.ts';
import { pauseFor, type RedisClient } from './redis.ts';
import { fencedError, redisScript } from './script.ts';

const scripts = {
  take: redisScript<string | null>(import.meta.url, 'lease-take'),
  renew: redisScript<number>(import.meta.url, 'lease-renew'),
  release: redisScript<number>(import.meta.url, 'lease-release'),
  freeOfDead: redisScript<number>(import.meta.url, 'lease-free-of-dead'),
};

/**
 * Takes and renews leases of one tenant. Waiters queue in order of arrival, so that work which restarts immediately does not block others.
 */
export interface Leases extends LeaseTable {
  /** Waits for a lease. @throws MirrorError `remote`, code `lease-busy`, after `waitMs` */
  take(name: string, waitMs: number, signal: AbortSignal): Promise<Lease>;
}

/** Time without a question after which a place expires: the waiter died or has no more work. */
const WAITER_LIFE_MS = 10 * SECOND_MS;

/** Renewals per lease time. A failed renewal is retried after a third of the interval. */
const RENEWALS = 3;

/**
 * @param ttlMs a lease without renewal expires after this time; holders renew at a third of the time
 * @param processes detects ended lives of processes, whose leases become free immediately
 */
export function createLeases(
  redis: RedisClient,
  tenant: string,
  ttlMs: number,
  processes: Pick<Processes, 'join' | 'dead'> = unregistered(),
): Leases {
  async function areFreed(name: string): Promise<boolean> {
    const dead = processes.dead();
    if (dead.length === 0) return false;
    const leaseKeys = [keys.lease(tenant, name), keys.leaseWaiting(tenant, name)];
    return (await scripts.freeOfDead(redis, leaseKeys, dead)) > 0;
  }
  async function tryTake(name: string, comesAgainAs = ''): Promise<Lease | null> {
    const key = keys.lease(tenant, name);
    const all = [key, keys.fence(tenant, name), keys.leaseWaiting(tenant, name)];
    // Joins before taking a lease, so that other processes can detect a death.
    const life = await processes.join();
    const attempt = async () => {
      const sentAt = performance.now();
      const owner = `${life.id}/${randomUUID()}`;
      const token = await scripts.take(redis, all, [owner, ttlMs, comesAgainAs, WAITER_LIFE_MS]);
      return typeof token === 'string' ? hold(redis, { name, key, token }, { ttlMs, life, takenAt: sentAt }) : null;
    };
    return (await attempt()) ?? ((await areFreed(name)) ? await attempt() : null);
  }
  async function take(name: string, waitMs: number, signal: AbortSignal): Promise<Lease> {
    const deadline = performance.now() + waitMs;
    const waiter = randomUUID();
    let waiterId = '';
    try {
      for (let pauseMs = 20; ; pauseMs = Math.min(pauseMs * 2, 500)) {
        signal.throwIfAborted();
        // A position of an ended life is free.
        waiterId = `${(await processes.join()).id}/${waiter}`;
        const lease = await tryTake(name, waiterId);
        if (lease !== null) return lease;
        if (performance.now() + pauseMs > deadline) throw busy(name);
        await pauseFor(pauseMs, signal);
      }
    } catch (error) {
      // Frees the place immediately; without Redis, the place expires shortly.
      await redis.hdel(keys.leaseWaiting(tenant, name), waiterId).catch(() => {});
      throw error;
    }
  }
  return { tryTake, take };
}

/**
 * Keeps a lease. The lease time starts when the command is sent: Redis starts later, so no other process can take the lease before the
 * local deadline.
 */
function hold(
  redis: RedisClient,
  held: Pick<Lease, 'name' | 'key' | 'token'>,
  { ttlMs, life, takenAt }: { ttlMs: number; life: Life; takenAt: number },
): Lease {
  const { over } = life;
  const lost = new AbortController();
  const usableMs = ttlMs * (1 - MARGIN_SHARE);
  let deadlineAt = takenAt + usableMs;
  let isReleased = false;
  let renewal: NodeJS.Timeout | undefined;
  let deadline: NodeJS.Timeout | undefined;
  const stop = () => {
    clearTimeout(renewal);
    clearTimeout(deadline);
    over.removeEventListener('abort', lose);
  };
  const lose = () => {
    stop();
    lost.abort(fencedError());
  };
  const loseAtDeadline = () => {
    clearTimeout(deadline);
    deadline = setTimeout(lose, Math.max(0, deadlineAt - performance.now())).unref();
  };
  const renewAfter = (pauseMs: number) => {
    renewal = setTimeout(() => void renew(), pauseMs).unref();
  };
  async function renew(): Promise<void> {
    const sentAt = performance.now();
    const renewed = await scripts.renew(redis, [held.key], [held.token, ttlMs]).catch(() => null);
    if (isReleased || lost.signal.aborted) return;
    if (renewed === 0) return lose();
    if (renewed === null) return renewAfter(ttlMs / RENEWALS / 3);
    deadlineAt = sentAt + usableMs;
    loseAtDeadline();
    renewAfter(ttlMs / RENEWALS);
  }
  loseAtDeadline();
  renewAfter(ttlMs / RENEWALS);
  over.addEventListener('abort', lose);
  if (over.aborted) lose();
  return {
    ...held,
    get signal() {
      // A resumed process handles pending input before its timers fire.
      if (!isReleased && (life.over.aborted || performance.now() >= deadlineAt)) lose();
      return lost.signal;
    },
    async release() {
      isReleased = true;
      stop();
      // Without Redis, the lease expires; results of the work stay valid.
      await scripts.release(redis, [held.key], [held.token]).catch(() => {});
    },
  };
}

function busy(name: string): MirrorError {
  return new MirrorError(message('lease-busy', { name }), {
    actor: 'remote',
    code: 'lease-busy',
    retry: 'later',
  });
}

/** Receives progress for an operator's command that waits. */
export interface WaitReport {
  /** Possible running work, as text after "waiting for". */
  what: Message;
  report: Progress;
}

/** Returns the purpose of a target's lease, as text after "waiting for". */
export function targetWork(target: string): Message {
  return message('step.wait.target', { target });
}

/**
 * Takes a lease for an operator's command. Waits as long as the holder lives and reports the wait immediately; the signal (Ctrl-C) ends the
 * wait. The daemon's work uses `Leases.take` with a time limit.
 */
export async function waitForLease(
  leases: Leases,
  name: string,
  { what, report }: WaitReport,
  signal: AbortSignal,
): Promise<Lease> {
  const free = await leases.tryTake(name);
  if (free !== null) return free;
  report(message('step.wait', { work: what }));
  return leases.take(name, Number.POSITIVE_INFINITY, signal);
}
