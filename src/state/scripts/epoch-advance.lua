-- Moves a counter on. One behind the mark is set to it, so that each step back is told once.
-- KEYS: 1 epoch. ARGV: 1 the highest known mark, 2 now, 3 by how much to go on.
-- Answers counter, when it was last raised, when it last went back, and to when.
local epoch = KEYS[1]
local mark, now, by = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local counter = tonumber(redis.call('HGET', epoch, 'counter') or '0')
local at = redis.call('HGET', epoch, 'at') or '0'
if counter < mark then
  redis.call('HSET', epoch, 'wentBackAt', now, 'wentBackTo', at, 'counter', mark)
  counter = mark
end
if by ~= '0' then
  counter = redis.call('HINCRBY', epoch, 'counter', by)
  redis.call('HSET', epoch, 'at', now)
  at = now
end
return {counter, at, redis.call('HGET', epoch, 'wentBackAt') or '0', redis.call('HGET', epoch, 'wentBackTo') or '0'}
