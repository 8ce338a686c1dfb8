-- A message waits no longer. One that was taken shows that the endpoint answers again.
-- KEYS: as trigger-keys. ARGV: 1 token, 2 name, 3 field of the counts, 4 when it was taken or '' when it is not sent, 5 '1' when the document
-- of one that is not sent may be told of again.
-- @include trigger-keys
local name, count, takenAt, mayReturn = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if redis.call('HDEL', waiting, name) == 0 then return 0 end
redis.call('HINCRBY', counts, count, 1)
if takenAt ~= '' then
  redis.call('HDEL', endpoint, 'restUntil', 'failingSince', 'code')
  redis.call('HSET', endpoint, 'lastSentAt', takenAt)
elseif mayReturn then redis.call('ZREM', names, name) end
return 1
