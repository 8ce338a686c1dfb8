-- Removes changes, except for erasures.
-- KEYS: 1 lease, 2 outbox, 3 due, 4 failing. ARGV: 1 token, 2… record ids.
-- @include fence
-- @include stored
local outbox, due, failing = KEYS[2], KEYS[3], KEYS[4]
for at = 2, #ARGV do
  local recordId = ARGV[at]
  local entry = objectOf(redis.call('HGET', outbox, recordId))
  if not entry or entry.why ~= 'forgotten' then
    redis.call('HDEL', outbox, recordId)
    redis.call('ZREM', due, recordId)
    redis.call('ZREM', failing, recordId)
  end
end
return 1
