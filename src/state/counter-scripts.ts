/** KEYS: counters, the narrowest first. ARGV: how long they count, the limit of each. */
export const COUNT = `
local counted = 0
for i = 1, #KEYS do
  counted = redis.call('INCR', KEYS[i])
  if counted == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[1]) end
  if counted > tonumber(ARGV[i + 1]) then return {counted, math.max(1, redis.call('PTTL', KEYS[i]))} end
end
return {counted, 0}`;
