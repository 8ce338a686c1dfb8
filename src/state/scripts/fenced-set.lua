-- Writes fields of a hash.
-- KEYS: 1 lease, 2 hash. ARGV: 1 token, 2… alternating fields and values; '' removes the field.
-- @include fence
local hash = KEYS[2]
for at = 2, #ARGV, 2 do
  local field, value = ARGV[at], ARGV[at + 1]
  if value == '' then redis.call('HDEL', hash, field) else redis.call('HSET', hash, field, value) end
end
return 1
