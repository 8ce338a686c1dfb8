-- Records the result of a delivery. Accepts a result from the holder of the claim, and from the sender at any later time: a late result
-- replaces the state `unknown`. Returns 1 if the result was recorded.
-- KEYS: 1 reminder, 2 open, 3 ended, 4 counts, 5 claim. ARGV: 1 id, 2 now, 3 retention ms, 4 token, 5 state, 6 reason, 7 code, 8 reference.
-- @include reminder-end
local entry, counts, claim = KEYS[1], KEYS[4], KEYS[5]
local id, now, retentionMs, token = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local ended, reason, code, reference = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
local state = redis.call('HGET', entry, 'state')
local isClaimed = redis.call('GET', claim) == token
local isSender = redis.call('HGET', entry, 'sender') == token
local isLate = state == 'unknown' and isSender and ended ~= 'unknown'
if not isLate and not ((state == 'planned' and isClaimed) or (state == 'sending' and (isClaimed or isSender))) then return 0 end
if isLate then redis.call('HINCRBY', counts, 'unknown:' .. redis.call('HGET', entry, 'reason'), -1) end
finish(id, now, retentionMs, ended, reason)
redis.call('HSET', entry, 'reference', reference)
if code ~= '' then redis.call('HSET', entry, 'lastCode', code) end
if isClaimed then redis.call('DEL', claim) end
return 1
