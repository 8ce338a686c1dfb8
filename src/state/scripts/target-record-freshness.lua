-- Records the freshness of a target, unless the plan was overtaken.
-- KEYS: 1 target, 2 history. ARGV: 1 overtaken counter before the plan, 2 as of, 3 equal to 2, or '' if changes are unsettled, 4 time of the
-- record.
-- @include history
local target, history = KEYS[1], KEYS[2]
local overtaken, plannedAsOf, idleAsOf, at = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local before = redis.call('HMGET', target, 'overtaken', 'idleAsOf')
if (before[1] or '0') ~= overtaken then return 0 end
recordAge(history, at, before[2])
redis.call('HSET', target, 'plannedAsOf', plannedAsOf)
if idleAsOf ~= '' then redis.call('HSET', target, 'idleAsOf', idleAsOf) end
return 1
