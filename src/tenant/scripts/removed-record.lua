-- Records new removals; existing removals keep their time. Deletes ended removals.
-- KEYS: 1 lease, 2 removed. ARGV: 1 token, 2 now, 3 number of removals, 4… their names, then names of ended removals.
-- @include ../../state/scripts/fence
local removed, now, missed = KEYS[2], ARGV[2], tonumber(ARGV[3])
for at = 4, #ARGV do
  if at < 4 + missed then redis.call('HSETNX', removed, ARGV[at], now) else redis.call('HDEL', removed, ARGV[at]) end
end
return 1
