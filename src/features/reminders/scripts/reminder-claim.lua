-- Claims a reminder. A claim is a separate key that expires, so that another worker continues the work of a dead worker.
-- KEYS: 1 reminder, 2 open, 3 claim. ARGV: 1 id, 2 token, 3 time of the claim ms.
-- Returns the fields of the reminder, or the remaining ms of another worker's claim, or nil if the reminder is not open.
local entry, open, claim = KEYS[1], KEYS[2], KEYS[3]
local id, token, claimMs = ARGV[1], ARGV[2], ARGV[3]
local state = redis.call('HGET', entry, 'state')
if state ~= 'planned' and state ~= 'sending' then
  redis.call('ZREM', open, id)
  return false
end
local remainingMs = redis.call('PTTL', claim)
if remainingMs > 0 then return remainingMs end
redis.call('SET', claim, token, 'PX', claimMs)
return redis.call('HGETALL', entry)
