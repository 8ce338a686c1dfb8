-- Makes changes due now that a fast clock planned or sent at a future time.
-- KEYS: 1 outbox, 2 due. ARGV: 1 now, 2 latest time that is not treated as future, 3 largest number of changes.
-- @include stored
local outbox, due = KEYS[1], KEYS[2]
local now, latest, most = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
for _, recordId in ipairs(redis.call('ZRANGEBYSCORE', due, '(' .. ARGV[1], '+inf', 'LIMIT', 0, most)) do
  local entry = objectOf(redis.call('HGET', outbox, recordId))
  if entry then
    local sentAt, plannedAt = tonumber(entry.z) or 0, tonumber(entry.q) or 0
    if plannedAt > latest or sentAt > latest then
      entry.q = math.min(plannedAt, now)
      if sentAt > latest then entry.z = now end
      entry.d = now
      redis.call('HSET', outbox, recordId, cjson.encode(entry))
      redis.call('ZADD', due, now, recordId)
    end
  end
end
return 1
