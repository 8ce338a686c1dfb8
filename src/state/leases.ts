import { randomUUID } from 'node:crypto';
import { type Message, message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { Progress } from '../model/tasks.ts';
import { SECOND_MS } from '../model/time.ts';
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

/** The right to do one thing alone for a while. Writes that it protects check `token` in the same script. */
export interface Lease {
  readonly name: string;
  /** Key that holds the token while the lease lives. */
  readonly key: string;
  /** `<fencing number>:<owner>`: grows with each holder, so a late one can be told apart. */
  readonly token: string;
  /**
   * Aborted when the lease was lost, and before anybody else can hold it when it could not be renewed, or this process could not be heard
   * of. Read it again before each call to the outside: that looks at the time, also where no timer could ring since the process stood still.
   */
  readonly signal: AbortSignal;
  /** Never throws. A lease that can't be given back ends by itself. */
  release(): Promise<void>;
}

/**
 * Takes and keeps leases of one tenant. Who waits for one has a place, in the order of coming, and whoever comes meanwhile goes behind:
 * work that is begun again as soon as it has ended keeps no other from its turn.
 */
export interface Leases {
  /**
   * Tries once.
   * @param comesAgainAs names work that tries again within a few seconds, in whatever process: it has a place until then
   * @returns null when somebody else holds it, or waits for it and came before
   */
  tryTake(name: string, comesAgainAs?: string): Promise<Lease | null>;
  /** Waits for it. @throws MirrorError `remote`, code `lease-busy`, when `waitMs` passes */
  take(name: string, waitMs: number, signal: AbortSignal): Promise<Lease>;
}

/** A place whose holder hasn't asked again for this long is nobody's: it died, or has nothing to do any more. */
const WAITER_LIFE_MS = 10 * SECOND_MS;

/** Renewals in the time of a lease. One that failed is tried again after a third of that pause. */
const RENEWALS = 3;

/**
 * @param ttlMs a lease that is not renewed ends after this time; a living holder renews at a third of it
 * @param processes tells which lives of processes have ended, so that what was held in them is free at once
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
    // Before it holds anything, others can learn of its death.
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
        // A place of a life that has ended is free.
        waiterId = `${(await processes.join()).id}/${waiter}`;
        const lease = await tryTake(name, waiterId);
        if (lease !== null) return lease;
        if (performance.now() + pauseMs > deadline) throw busy(name);
        await pauseFor(pauseMs, signal);
      }
    } catch (error) {
      // The place is free at once; where Redis is away it is in a little while.
      await redis.hdel(keys.leaseWaiting(tenant, name), waiterId).catch(() => {});
      throw error;
    }
  }
  return { tryTake, take };
}

/**
 * Keeps a lease that was taken. It counts from the moment in which the take or the renewal was sent: Redis began to count no
 * earlier, so nobody else can hold it before our deadline.
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
      // A process that stood still goes on with what came in meanwhile, before its timers ring.
      if (!isReleased && (life.over.aborted || performance.now() >= deadlineAt)) lose();
      return lost.signal;
    },
    async release() {
      isReleased = true;
      stop();
      // Where Redis is away the lease ends by itself; what was done under it stands.
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

/** Whom a person's command tells what it waits for. */
export interface WaitReport {
  /** What may be under way, in words that follow "waiting for". */
  what: Message;
  report: Progress;
}

/** What a target's lease is held for, in words that follow "waiting for". */
export function targetWork(target: string): Message {
  return message('step.wait.target', { target });
}

/**
 * Takes a lease for a person's command. One that somebody holds is waited for as long as that lives, and the person is told at once; the
 * signal (Ctrl-C) ends the waiting. The daemon's own work waits with `Leases.take`, for a time.
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
