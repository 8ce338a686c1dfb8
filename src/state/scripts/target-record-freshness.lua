-- Notes as of when a target is planned, unless what was planned was overtaken since.
-- KEYS: 1 target. ARGV: 1 how often what was planned was overtaken before the plan, 2 as of, 3 the same, or '' where not all is settled.
local target = KEYS[1]
local overtaken, plannedAsOf, idleAsOf = ARGV[1], ARGV[2], ARGV[3]
if (redis.call('HGET', target, 'overtaken') or '0') ~= overtaken then return 0 end
redis.call('HSET', target, 'plannedAsOf', plannedAsOf)
if idleAsOf ~= '' then redis.call('HSET', target, 'idleAsOf', idleAsOf) end
return 1
