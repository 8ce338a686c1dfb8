-- Moves a counter on. One behind the mark is set to it, so that each step back is told once.
-- KEYS: 1 state counter. ARGV: 1 the highest mark seen, 2 now, 3 by how much to go on.
-- Answers counter, when it was last raised, when it last went back, and to when.
local stateCounter = KEYS[1]
local mark, now, by = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local counter = tonumber(redis.call('HGET', stateCounter, 'counter') or '0')
local at = redis.call('HGET', stateCounter, 'at') or '0'
if counter < mark then
  redis.call('HSET', stateCounter, 'wentBackAt', now, 'wentBackTo', at, 'counter', mark)
  counter = mark
end
if by ~= '0' then
  counter = redis.call('HINCRBY', stateCounter, 'counter', by)
  redis.call('HSET', stateCounter, 'at', now)
  at = now
end
return {counter, at, redis.call('HGET', stateCounter, 'wentBackAt') or '0', redis.call('HGET', stateCounter, 'wentBackTo') or '0'}
