-- Adds messages for new names. Known names remain unchanged. Returns the number of new names.
-- KEYS: see trigger-keys. ARGV: 1 token, 2… name and message, repeated; '' records the name without a message.
-- @include trigger-keys
local recorded = 0
for at = 2, #ARGV, 2 do
  local name, entry = ARGV[at], ARGV[at + 1]
  if redis.call('ZADD', names, 'NX', 0, name) == 1 then
    if entry ~= '' then redis.call('HSET', waiting, name, entry) end
    recorded = recorded + 1
  end
end
return recorded
