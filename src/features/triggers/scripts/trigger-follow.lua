-- Records the current state of appointments, each with its message in one step. Returns the number of messages.
-- KEYS: see trigger-keys. ARGV: 1 token, 2… name of the appointment, its state or '' to remove the appointment, id and content of the
-- message or '' and '', repeated.
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
