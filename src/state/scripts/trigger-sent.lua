-- A message was taken, which shows that the endpoint answers again.
-- KEYS: as trigger-keys. ARGV: 1 token, 2 name, 3 field of the counts, 4 now.
-- @include trigger-keys
local name, count, now = ARGV[2], ARGV[3], ARGV[4]
if redis.call('HDEL', waiting, name) == 0 then return 0 end
redis.call('HINCRBY', counts, count, 1)
redis.call('HDEL', endpoint, 'restUntil', 'failingSince', 'code')
redis.call('HSET', endpoint, 'lastSentAt', now)
return 1
