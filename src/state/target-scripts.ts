import { FENCE } from './lease-scripts.ts';

/**
 * KEYS: lease, then target, links and outbox of each. ARGV: token, planned at, under, as of ('' for none), then the links' version of
 * each.
 */
export const SETTLE = `${FENCE}
for i = 2, #KEYS, 3 do
  local target, links, outbox = KEYS[i], KEYS[i + 1], KEYS[i + 2]
  local isAsLooked = redis.call('HGET', links, 'version') == ARGV[4 + (i + 1) / 3] and redis.call('HLEN', outbox) == 0
  if isAsLooked and redis.call('HEXISTS', target, 'adoptedAt') == 1 and redis.call('HEXISTS', target, 'failure') == 0 then
    redis.call('HSET', target, 'lastPlannedAt', ARGV[2], 'plannedUnder', ARGV[3], 'comparableUnder', ARGV[3])
    redis.call('HDEL', target, 'gaps')
    if ARGV[4] ~= '' then
      redis.call('HSET', target, 'plannedAsOf', ARGV[4], 'settledAsOf', ARGV[4])
      redis.call('HDEL', target, 'unconfirmed')
    end
  end
end
return 1`;

/** KEYS: target. ARGV: how often what was planned was overtaken before the plan, as of, the same or '' where not all is settled. */
export const NOTE_FRESHNESS = `
if (redis.call('HGET', KEYS[1], 'overtaken') or '0') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'plannedAsOf', ARGV[2])
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'settledAsOf', ARGV[3]) end
return 1`;

/** KEYS: target, links and outbox of each. */
export const SUMMARIZE = `
local all = {}
for i = 1, #KEYS, 3 do
  local record = redis.call('HGETALL', KEYS[i])
  all[#all + 1] = {record, redis.call('HGET', KEYS[i + 1], 'version'), redis.call('HLEN', KEYS[i + 2])}
end
return all`;
