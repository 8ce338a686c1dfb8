-- Checks whether a process has the newest configuration, and restores data that Redis lost.
-- KEYS: 1 configuration. ARGV: 1 number of the process, 2 hash, 3 targets, 4 now.
-- Returns the number, which is higher if a different configuration came and went; 0 if a different configuration is the newest.
-- @include stored
local configuration = KEYS[1]
local mine, hash, targets, now = tonumber(ARGV[1]), ARGV[2], ARGV[3], ARGV[4]
local number = wholeOf(redis.call('HGET', configuration, 'number'))
if number >= mine and redis.call('HGET', configuration, 'hash') ~= hash then
  redis.call('HSET', configuration, 'refusedAt', now)
  return 0
end
if number < mine then redis.call('HSET', configuration, 'number', mine, 'hash', hash, 'targets', targets) end
return math.max(number, mine)
