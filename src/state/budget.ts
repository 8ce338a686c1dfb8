import { MirrorError } from '../model/errors.ts';
import { MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** What an application may ask of a server. */
export interface BudgetLimits {
  requestsPerMinute: number;
  /** Requests that may come at once after a quiet time. */
  burst: number;
}

/** Work that a person waits for goes ahead of work that nobody waits for. */
export type Priority = 'interactive' | 'background';

/** One participant's access to a shared budget; fits `Budget` of the door. */
export interface BudgetShare {
  take(signal: AbortSignal, units?: number): Promise<void>;
  pause(durationMs: number): Promise<void>;
}

/** A participant that asked within this time counts when the budget is divided. */
const ACTIVE_MS = MINUTE_MS;
/** A wait longer than this is a delayed job, not a sleeping worker. */
const LONGEST_WAIT_MS = 10_000;
/** Part of the burst that background work leaves for a person who waits. */
const RESERVED_SHARE = 0.1;

// Generic cell rate algorithm, once for the whole budget and once for the participant's fair share of it. The share binds only
// while the budget is short: more than half of the burst spent. KEYS: hash. ARGV: participant, interval ms, burst, reserved,
// active ms, units. Times are Redis's own, so replicas need no common clock. Answers the wait in milliseconds, 0 when taken.
const TAKE = `
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local interval, burst, reserved = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local taken = interval * tonumber(ARGV[6])
local paused = tonumber(redis.call('HGET', KEYS[1], 'paused') or 0)
if paused > now then return math.ceil(paused - now) end
redis.call('ZADD', KEYS[2], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - tonumber(ARGV[5]))
redis.call('PEXPIRE', KEYS[2], ARGV[5])
local participants = redis.call('ZCARD', KEYS[2])
local tat = math.max(tonumber(redis.call('HGET', KEYS[1], 'tat') or 0), now)
local own_key = 'tat:' .. ARGV[1]
local own = math.max(tonumber(redis.call('HGET', KEYS[1], own_key) or 0), now)
local wait = tat + taken - now - interval * (burst - reserved)
if tat - now > interval * burst / 2 then
  wait = math.max(wait, own + taken * participants - now - interval * math.max(burst / 2, participants * tonumber(ARGV[6])))
end
if wait > 0 then return math.ceil(wait) end
redis.call('HSET', KEYS[1], 'tat', tat + taken, own_key, own + taken * participants)
redis.call('PEXPIRE', KEYS[1], 600000)
return 0`;

const PAUSE = `
local t = redis.call('TIME')
local untilAt = t[1] * 1000 + t[2] / 1000 + tonumber(ARGV[1])
if tonumber(redis.call('HGET', KEYS[1], 'paused') or 0) < untilAt then redis.call('HSET', KEYS[1], 'paused', untilAt) end
redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[1]) + 600000)
return 1`;

/**
 * Opens one participant's share of a budget that all tenants and replicas of one application draw from.
 * @param budget names the budget: the application's client id
 * @param participant names who draws: the tenant
 */
export function openBudgetShare(
  redis: RedisClient,
  budget: string,
  participant: string,
  limits: BudgetLimits,
  priority: Priority,
): BudgetShare {
  const key = keys.budget(budget);
  const intervalMs = MINUTE_MS / limits.requestsPerMinute;
  const reserved = priority === 'interactive' ? 0 : Math.floor(limits.burst * RESERVED_SHARE);
  return {
    async take(signal, units = 1) {
      // More than fits at once is taken as what fits: it could never be had otherwise.
      const taken = Math.max(1, Math.min(units, limits.burst - reserved));
      const startedAt = performance.now();
      for (;;) {
        const answer = await redis.eval(
          TAKE,
          2,
          key,
          `${key}:active`,
          participant,
          intervalMs,
          limits.burst,
          reserved,
          ACTIVE_MS,
          taken,
        );
        const waitMs = Number(answer);
        if (waitMs === 0) return;
        if (performance.now() - startedAt + waitMs > LONGEST_WAIT_MS) throw exhausted(waitMs);
        await pauseFor(waitMs, signal);
      }
    },
    async pause(durationMs) {
      await redis.eval(PAUSE, 1, key, durationMs);
    },
  };
}

function pauseFor(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, durationMs);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

function exhausted(waitMs: number): MirrorError {
  return new MirrorError('the request budget of the application is used up for now', {
    actor: 'remote',
    code: 'budget-exhausted',
    retry: 'later',
    retryAfterMs: waitMs,
  });
}
