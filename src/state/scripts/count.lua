-- Increments each counter, up to the first counter above its limit. Returns the count of the last counter, and its remaining time in ms: 0
-- if no limit is exceeded.
-- KEYS: counters, narrowest first. ARGV: 1 window in ms, 2… limit of each counter.
-- @include stored
local windowMs = ARGV[1]
local counted = 0
for index, counter in ipairs(KEYS) do
  counted = count(counter)
  if counted == 1 then redis.call('PEXPIRE', counter, windowMs) end
  if counted > tonumber(ARGV[index + 1]) then return {counted, math.max(1, redis.call('PTTL', counter))} end
end
return {counted, 0}
