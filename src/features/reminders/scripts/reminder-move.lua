-- Moves the messages about an appointment to the appointment that replaces it. Reminders that were not sent stay.
-- KEYS: 1 reminders of the appointment, 2 reminders of the other, 3 informed appointments, then the reminders.
-- ARGV: 1 appointment, 2 the other, then the ids of the reminders. Returns 1, or 0 during a delivery.
local from, to, informed = KEYS[1], KEYS[2], KEYS[3]
local appointment, replacedBy = ARGV[1], ARGV[2]
for index = 4, #KEYS do
  if redis.call('HGET', KEYS[index], 'state') == 'sending' then return 0 end
end
for index = 4, #KEYS do
  local state = redis.call('HGET', KEYS[index], 'state')
  if state == 'sent' or state == 'unknown' then
    redis.call('HSET', KEYS[index], 'movedTo', replacedBy)
    redis.call('SMOVE', from, to, ARGV[index - 1])
    local lifeMs = redis.call('PTTL', KEYS[index])
    if redis.call('PTTL', to) < lifeMs then redis.call('PEXPIRE', to, lifeMs) end
  end
end
local untilAt = redis.call('ZSCORE', informed, appointment)
if untilAt then redis.call('ZADD', informed, 'GT', untilAt, replacedBy) end
redis.call('ZREM', informed, appointment)
return 1
