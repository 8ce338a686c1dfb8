/** KEYS: counters, the narrowest first. ARGV: how long they count, the limit of each. */
export const ADMIT = `
for i = 1, #KEYS do
  local counted = redis.call('INCR', KEYS[i])
  redis.call('PEXPIRE', KEYS[i], ARGV[1])
  if counted > tonumber(ARGV[i + 1]) then return 0 end
end
return 1`;

/** KEYS: counter. ARGV: how long it counts, from its first. */
export const COUNT = `
local counted = redis.call('INCR', KEYS[1])
if counted == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return counted`;
