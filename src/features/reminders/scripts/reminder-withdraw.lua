-- Withdraws what nobody has begun to hand over.
-- KEYS: 1 entry, 2 open, 3 settled, 4 counts. ARGV: 1 id, 2 now, 3 keep ms, 4 reason.
-- @include reminder-settled
local id, now, retentionMs, reason = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
if redis.call('HGET', KEYS[1], 'state') ~= 'planned' then return 0 end
settle(id, now, retentionMs, 'dropped', reason)
return 1
