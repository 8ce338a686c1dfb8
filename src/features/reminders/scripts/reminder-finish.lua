-- Records the result of a delivery, for each reminder of the message. Accepts a result from the holder of the claim, and from the sender at
-- any later time: a late result replaces the state `unknown`. Returns 1 if the result of the first reminder was recorded.
-- KEYS: 1 open, 2 ended, 3 counts, then for each reminder its key and its claim.
-- ARGV: 1 now, 2 retention ms, 3 state, 4 reason, 5 code, 6 reference, then for each reminder its id and the token of its claim.
-- @include reminder-end
local now, retentionMs, ended, reason, code, reference = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local function record(entry, claim, id, token)
  local state = redis.call('HGET', entry, 'state')
  local isClaimed = redis.call('GET', claim) == token
  local isSender = redis.call('HGET', entry, 'sender') == token
  local isLate = state == 'unknown' and isSender and ended ~= 'unknown'
  if not isLate and not ((state == 'planned' and isClaimed) or (state == 'sending' and (isClaimed or isSender))) then return 0 end
  if isLate then increase(KEYS[3], 'unknown:' .. (redis.call('HGET', entry, 'reason') or ''), -1) end
  finish({ entry = entry, open = KEYS[1], ended = KEYS[2], counts = KEYS[3] }, id, now, retentionMs, ended, reason)
  redis.call('HSET', entry, 'reference', reference)
  if code ~= '' then redis.call('HSET', entry, 'lastCode', code) end
  if isClaimed then redis.call('DEL', claim) end
  return 1
end
local first = nil
for index = 4, #KEYS, 2 do
  local recorded = record(KEYS[index], KEYS[index + 1], ARGV[index + 3], ARGV[index + 4])
  if first == nil then first = recorded end
end
return first
