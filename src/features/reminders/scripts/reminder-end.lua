-- Records the final state of a reminder.
-- KEYS: 1 reminder, 2 open, 3 ended, 4 counts.
local function finish(id, now, retentionMs, state, reason)
  local entry, open, ended, counts = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
  redis.call('HSET', entry, 'state', state, 'reason', reason, 'settledAt', now)
  redis.call('ZREM', open, id)
  redis.call('ZADD', ended, now, id)
  redis.call('ZREMRANGEBYSCORE', ended, '-inf', now - retentionMs)
  redis.call('HINCRBY', counts, state .. ':' .. reason, 1)
end
