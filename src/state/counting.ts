import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';

const count = redisScript<[counted: number, waitMs: number]>(import.meta.url, 'count');

/** A counter, and how many it lets through before it begins again. */
export interface Limit {
  key: string;
  most: number;
}

/** What counting one came to. */
export interface Counted {
  /** How many there were in this window, this one too, by the counter that was asked last. */
  counted: number;
  /** Until the counter that holds it back begins again; null: it is let through. */
  waitMs: number | null;
}

/**
 * Counts one for each of these counters, which all processes share: a window begins with its first one. What one counter holds back the next
 * ones don't count, so that whoever asks too often takes nothing from others.
 * @param limits the narrowest first; of one hash tag
 */
export async function countOne(redis: RedisClient, windowMs: number, limits: readonly Limit[]): Promise<Counted> {
  const counterKeys = limits.map(({ key }) => key);
  const most = limits.map((limit) => limit.most);
  const [counted, waitMs] = await count(redis, counterKeys, [windowMs, ...most]);
  return { counted, waitMs: waitMs === 0 ? null : waitMs };
}
