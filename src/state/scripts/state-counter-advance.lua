-- Advances a counter. A counter below the mark is set to the mark, so that each loss is reported once.
-- KEYS: 1 state counter. ARGV: 1 highest known mark, 2 now, 3 increment, 4 time of a loss that is found now.
-- Returns the counter, the time of its last increase, the time of the last loss, the time of the older state, and 1 if a loss was found.
-- @include stored
local stateCounter = KEYS[1]
local mark, now, by, isLost = tonumber(ARGV[1]), ARGV[2], ARGV[3], 0
local stored, storedAt, wentBackAt, storedTo =
  unpack(redis.call('HMGET', stateCounter, 'counter', 'at', 'wentBackAt', 'wentBackTo'))
local counter, at, wentBackTo = wholeOf(stored), wholeOf(storedAt), wholeOf(storedTo)
-- A damaged counter is a loss, because it shows none.
local isDamaged = (stored and not isWhole(stored)) or (wentBackAt and not tonumber(wentBackAt))
if counter < mark or isDamaged then
  counter = math.max(counter, mark)
  wentBackAt, wentBackTo = ARGV[4], at
  redis.call('HSET', stateCounter, 'wentBackAt', ARGV[4], 'wentBackTo', at, 'counter', counter)
  isLost = 1
end
if by ~= '0' then
  counter = increase(stateCounter, 'counter', by)
  redis.call('HSET', stateCounter, 'at', now)
  at = now
end
return {counter, at, wentBackAt or '0', wentBackTo, isLost}
