-- Withdraws a reminder whose delivery has not started. Returns 1 if the reminder was withdrawn.
-- KEYS: 1 reminder, 2 open, 3 ended, 4 counts. ARGV: 1 id, 2 now, 3 retention ms, 4 reason.
-- @include reminder-end
local id, now, retentionMs, reason = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
if redis.call('HGET', KEYS[1], 'state') ~= 'planned' then return 0 end
finish({ entry = KEYS[1], open = KEYS[2], ended = KEYS[3], counts = KEYS[4] }, id, now, retentionMs, 'dropped', reason)
return 1
