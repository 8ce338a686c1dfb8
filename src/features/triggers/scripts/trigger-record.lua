-- Writes down what is to be sent; what is known is left as it is. Answers how many are new.
-- KEYS: as trigger-keys. ARGV: 1 token, 2… name and entry in turn; an entry of '' takes the name as told of, without a message.
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
