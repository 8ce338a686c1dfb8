-- Plans a reminder that is new, withdrawn or already planned. A reminder whose delivery may have started remains unchanged. Returns 1
-- after a change.
-- KEYS: 1 reminder, 2 open, 3 ended, 4 counts, 5 reminders of the appointment.
-- ARGV: 1 id, 2 now, 3 retention ms, 4 reason for no delivery or '' to plan, 5 dueAt, 6 life of the key ms, 7 appointment, 8 startAt,
-- 9 rule, 10 channel, 11 zone, 12 correction.
-- @include reminder-end
local entry, open, ended, counts, ofAppointment = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local id, now, retentionMs, dropped, dueAt, lifeMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local appointment, startAt, rule, channel, zone, correction = ARGV[7], ARGV[8], ARGV[9], ARGV[10], ARGV[11], ARGV[12]
local state = redis.call('HGET', entry, 'state')
local reason = redis.call('HGET', entry, 'reason')
local isWithdrawn = reason == 'cancelled' or reason == 'moved' or reason == 'vanished' or reason == 'excluded' or reason == 'outdated'
if state and state ~= 'planned' and not (state == 'dropped' and isWithdrawn) then return 0 end
if state and dropped ~= '' then return 0 end
redis.call('HSET', entry, 'id', id, 'dueAt', dueAt, 'appointmentId', appointment, 'startAt', startAt, 'rule', rule,
  'channel', channel, 'zone', zone, 'correction', correction, 'state', 'planned', 'wakeAt', dueAt, 'reason', '', 'settledAt', '')
redis.call(state == 'planned' and 'HSETNX' or 'HSET', entry, 'plannedAt', now)
redis.call('HSETNX', entry, 'attempts', 0)
redis.call('PEXPIRE', entry, lifeMs)
redis.call('SADD', ofAppointment, id)
if redis.call('PTTL', ofAppointment) < tonumber(lifeMs) then redis.call('PEXPIRE', ofAppointment, lifeMs) end
redis.call('ZREM', ended, id)
if dropped == '' then
  redis.call('ZADD', open, dueAt, id)
  if state ~= 'planned' then increase(counts, 'planned:', 1) end
else
  finish({ entry = entry, open = open, ended = ended, counts = counts }, id, tonumber(now), tonumber(retentionMs), 'dropped', dropped)
end
return 1
