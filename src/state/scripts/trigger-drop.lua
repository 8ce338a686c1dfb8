-- A message is not sent.
-- KEYS: as trigger-keys. ARGV: 1 token, 2 name, 3 field of the counts, 4 '1' when its document may be told of again.
-- @include trigger-keys
local name, count, mayReturn = ARGV[2], ARGV[3], ARGV[4] == '1'
if redis.call('HDEL', waiting, name) == 0 then return 0 end
redis.call('HINCRBY', counts, count, 1)
if mayReturn then redis.call('ZREM', known, name) end
return 1
