-- Advances a counter. A counter below the mark is set to the mark, so that each loss is reported once.
-- KEYS: 1 state counter. ARGV: 1 highest known mark, 2 now, 3 increment, 4 time of a loss that is found now.
-- Returns the counter, the time of its last increase, the time of the last loss, the time of the older state, and 1 if a loss was found.
local stateCounter = KEYS[1]
local mark, now, by, isLost = tonumber(ARGV[1]), ARGV[2], ARGV[3], 0
local counter = tonumber(redis.call('HGET', stateCounter, 'counter') or '0')
local at = redis.call('HGET', stateCounter, 'at') or '0'
if counter < mark then
  redis.call('HSET', stateCounter, 'wentBackAt', ARGV[4], 'wentBackTo', at, 'counter', mark)
  counter = mark
  isLost = 1
end
if by ~= '0' then
  counter = redis.call('HINCRBY', stateCounter, 'counter', by)
  redis.call('HSET', stateCounter, 'at', now)
  at = now
end
return {counter, at, redis.call('HGET', stateCounter, 'wentBackAt') or '0', redis.call('HGET', stateCounter, 'wentBackTo') or '0', isLost}
