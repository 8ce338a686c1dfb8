-- Writes down how appointments are now, each at once with what is to be said of it. Answers how many messages there are.
-- KEYS: as trigger-keys. ARGV: 1 token, 2… name of the appointment, how it is now or '' to remove it, id and entry of the message or ''
-- twice, in turn.
-- @include trigger-keys
local recorded = 0
for at = 2, #ARGV, 4 do
  local name, appointment, id, entry = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  if appointment == '' then redis.call('HDEL', appointments, name) else redis.call('HSET', appointments, name, appointment) end
  if id ~= '' then
    redis.call('HSET', waiting, id, entry)
    recorded = recorded + 1
  end
end
return recorded
