-- Replaces a waiting message, after a postponed delivery. Returns 0 if the message no longer waits.
-- KEYS: see trigger-keys. ARGV: 1 token, 2 name, 3 field of the counts or '', 4 message.
-- @include trigger-keys
local name, field, entry = ARGV[2], ARGV[3], ARGV[4]
if redis.call('HEXISTS', waiting, name) == 0 then return 0 end
redis.call('HSET', waiting, name, entry)
if field ~= '' then increase(counts, field, 1) end
return 1
