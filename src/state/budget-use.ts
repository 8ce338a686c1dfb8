import { DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { scoresOf } from './replies.ts';
import { redisScript } from './script.ts';

const readUse = redisScript<[now: number, counts: string[]]>(import.meta.url, 'budget-use');

/** Units that were granted of a budget. */
export interface BudgetUse {
  /** In the last hour. */
  lastHour: number;
  /** In the last 24 hours, by participant. */
  lastDay: ReadonlyMap<string, number>;
}

/** Returns the units granted of a budget, by the clock of Redis that they were counted by. */
export async function readBudgetUse(redis: RedisClient, budget: string): Promise<BudgetUse> {
  const [now, counts] = await readUse(redis, [keys.budget(budget).used]);
  return budgetUse(scoresOf(counts), now);
}

/**
 * Units are counted by hours and days of the clock, so that of the one that has begun and the one before is taken as much as would fill
 * the whole, as if they were spread evenly over it.
 */
export function budgetUse(counts: Iterable<readonly [field: string, units: number]>, now: Instant): BudgetUse {
  const lastDay = new Map<string, number>();
  let lastHour = 0;
  for (const [field, units] of counts) {
    const [, kind, number = '', who = ''] = /^(hour|day):(\d+)(?::(.+))?$/.exec(field) ?? [];
    const counted = units * shareWithin(Number(number), kind === 'hour' ? HOUR_MS : DAY_MS, now);
    if (kind === 'hour') lastHour += counted;
    if (kind === 'day') lastDay.set(who, (lastDay.get(who) ?? 0) + counted);
  }
  return { lastHour, lastDay };
}

/** How much of a span of the clock lies within the last such time. */
function shareWithin(number: number, spanMs: number, now: Instant): number {
  const current = Math.floor(now / spanMs);
  if (number === current) return 1;
  return number === current - 1 ? 1 - (now % spanMs) / spanMs : 0;
}
