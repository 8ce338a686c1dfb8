-- Postpones a reminder and releases the claim. Returns 1 if the reminder was postponed.
-- KEYS: 1 reminder, 2 open, 3 claim. ARGV: 1 id, 2 token, 3 wakeAt, 4 code or '', 5 '1' if the reminder was certainly not delivered.
local entry, open, claim = KEYS[1], KEYS[2], KEYS[3]
local id, token, wakeAt, code, isNotSent = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5] == '1'
if redis.call('GET', claim) ~= token then return 0 end
redis.call('DEL', claim)
local state = redis.call('HGET', entry, 'state')
if state ~= 'planned' and state ~= 'sending' then return 0 end
if isNotSent then redis.call('HSET', entry, 'state', 'planned') end
redis.call('HSET', entry, 'wakeAt', wakeAt)
if code ~= '' then redis.call('HSET', entry, 'lastCode', code) end
redis.call('ZADD', open, wakeAt, id)
return 1
