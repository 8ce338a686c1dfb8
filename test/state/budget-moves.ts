import { keys } from '../../src/state/keys.ts';
import type { RedisClient } from '../../src/state/redis.ts';

const MOVE = `
local ms = tonumber(ARGV[1])
local noted = redis.call('HGETALL', KEYS[1])
for index = 1, #noted, 2 do
  if noted[index] ~= 'seq' then redis.call('HSET', KEYS[1], noted[index], noted[index + 1] - ms) end
end
local tickets = redis.call('HGETALL', KEYS[2])
for index = 1, #tickets, 2 do
  local ticket = cjson.decode(tickets[index + 1])
  ticket.expiresAt = ticket.expiresAt - ms
  redis.call('HSET', KEYS[2], tickets[index], cjson.encode(ticket))
end
for _, who in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do redis.call('ZINCRBY', KEYS[3], -ms, who) end`;

/** Lets time pass for a budget: Redis' own clock can't be set, so all that it noted moves into the past. */
export async function moveBudget(redis: RedisClient, budget: string, ms: number): Promise<void> {
  const places = keys.budget(budget);
  await redis.eval(MOVE, 3, places.budget, places.waiting, places.refused, ms);
}
