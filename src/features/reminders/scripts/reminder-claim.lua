-- Claims an entry. A claim is a key of its own that ends by itself, so that the work of a worker that died is taken up by another one.
-- KEYS: 1 entry, 2 open, 3 claim. ARGV: 1 id, 2 token, 3 claim ms.
-- Answers the entry's fields, or how long somebody else's claim lasts, or nil.
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
