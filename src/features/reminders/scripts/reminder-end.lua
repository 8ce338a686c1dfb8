-- Records the final state of a reminder. `at` has the keys of the reminder, of the open and the ended reminders, and of the counts.
-- @include ../../../state/scripts/stored
local function finish(at, id, now, retentionMs, state, reason)
  redis.call('HSET', at.entry, 'state', state, 'reason', reason, 'settledAt', now)
  redis.call('ZREM', at.open, id)
  redis.call('ZADD', at.ended, now, id)
  redis.call('ZREMRANGEBYSCORE', at.ended, '-inf', now - retentionMs)
  increase(at.counts, state .. ':' .. reason, 1)
end
