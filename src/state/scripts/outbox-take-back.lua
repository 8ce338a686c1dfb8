-- Makes changes due now that a fast clock planned or sent at a future time.
-- KEYS: 1 outbox, 2 due. ARGV: 1 now, 2 latest time that is not treated as future, 3 largest number of changes.
local outbox, due = KEYS[1], KEYS[2]
local now, latest, most = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
for _, recordId in ipairs(redis.call('ZRANGEBYSCORE', due, '(' .. ARGV[1], '+inf', 'LIMIT', 0, most)) do
  local stored = redis.call('HGET', outbox, recordId)
  if stored then
    local entry = cjson.decode(stored)
    local sentAt = tonumber(entry.z) or 0
    if entry.q > latest or sentAt > latest then
      entry.q = math.min(entry.q, now)
      if sentAt > latest then entry.z = now end
      entry.d = now
      redis.call('HSET', outbox, recordId, cjson.encode(entry))
      redis.call('ZADD', due, now, recordId)
    end
  end
end
return 1
