-- Records the freshness of a target, unless the plan was overtaken.
-- KEYS: 1 target. ARGV: 1 overtaken counter before the plan, 2 as of, 3 equal to 2, or '' if changes are unsettled.
local target = KEYS[1]
local overtaken, plannedAsOf, idleAsOf = ARGV[1], ARGV[2], ARGV[3]
if (redis.call('HGET', target, 'overtaken') or '0') ~= overtaken then return 0 end
redis.call('HSET', target, 'plannedAsOf', plannedAsOf)
if idleAsOf ~= '' then redis.call('HSET', target, 'idleAsOf', idleAsOf) end
return 1
