-- Counts one for each counter, up to the first one that holds it back. Answers the count of that counter, and how long it lasts yet in ms: 0
-- where none holds it back.
-- KEYS: counters, the narrowest first. ARGV: 1 how long they count in ms, 2… the limit of each.
local windowMs = ARGV[1]
local counted = 0
for index, counter in ipairs(KEYS) do
  counted = redis.call('INCR', counter)
  if counted == 1 then redis.call('PEXPIRE', counter, windowMs) end
  if counted > tonumber(ARGV[index + 1]) then return {counted, math.max(1, redis.call('PTTL', counter))} end
end
return {counted, 0}
