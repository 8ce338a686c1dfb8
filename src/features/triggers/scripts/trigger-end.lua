-- Removes a waiting message. An accepted message ends the outage of the endpoint. Returns 0 if the message no longer waits.
-- KEYS: see trigger-keys. ARGV: 1 token, 2 name, 3 field of the counts, 4 time of acceptance or '' if not sent, 5 '1' if the document of a
-- message that is not sent may cause another message.
-- @include trigger-keys
local name, field, takenAt, mayReturn = ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if redis.call('HDEL', waiting, name) == 0 then return 0 end
increase(counts, field, 1)
if takenAt ~= '' then
  redis.call('HDEL', endpoint, 'restUntil', 'failingSince', 'code')
  redis.call('HSET', endpoint, 'lastSentAt', takenAt)
elseif mayReturn then redis.call('ZREM', names, name) end
return 1
