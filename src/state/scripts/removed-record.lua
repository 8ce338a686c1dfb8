-- Notes what is missed; what is missed already keeps its time. What is no longer missed goes.
-- KEYS: 1 lease, 2 removed. ARGV: 1 token, 2 now, 3 how many are missed, 4… their names, then names that end.
-- @include fence
local removed, now, missed = KEYS[2], ARGV[2], tonumber(ARGV[3])
for at = 4, #ARGV do
  if at < 4 + missed then redis.call('HSETNX', removed, ARGV[at], now) else redis.call('HDEL', removed, ARGV[at]) end
end
return 1
