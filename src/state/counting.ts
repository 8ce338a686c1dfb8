import type { RedisClient } from './redis.ts';

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

// KEYS: counters, the narrowest first. ARGV: how long they count, the limit of each.
const COUNT = `
local counted = 0
for i = 1, #KEYS do
  counted = redis.call('INCR', KEYS[i])
  if counted == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
  if counted > tonumber(ARGV[i + 1]) then return {counted, math.max(1, redis.call('PTTL', KEYS[i]))} end
end
return {counted, 0}`;

/**
 * Counts one for each of these counters, which all processes share: a window begins with its first one. What one counter holds back the next
 * ones don't count, so that whoever asks too often takes nothing from others.
 * @param limits the narrowest first; of one hash tag
 */
export async function countOne(redis: RedisClient, windowMs: number, limits: readonly Limit[]): Promise<Counted> {
  const places = limits.map(({ key }) => key);
  const most = limits.map((limit) => limit.most);
  const [counted, waitMs] = (await redis.eval(COUNT, places.length, ...places, windowMs, ...most)) as [number, number];
  return { counted, waitMs: waitMs === 0 ? null : waitMs };
}
