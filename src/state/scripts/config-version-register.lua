-- Registers the configuration of a process: another one than the newest gets the next number and takes the leases of those before.
-- KEYS: 1 configuration, 2… leases of planner, reader of streams and lanes. ARGV: 1 the number that was read, 2 hash, 3 targets.
-- Answers the number; -1 when another process registered meanwhile.
local configuration = KEYS[1]
local read, hash, targets = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local number = tonumber(redis.call('HGET', configuration, 'number') or '0')
if number ~= read then return -1 end
if redis.call('HGET', configuration, 'hash') ~= hash then
  number = number + 1
  for index = 2, #KEYS do redis.call('DEL', KEYS[index]) end
end
redis.call('HSET', configuration, 'number', number, 'hash', hash, 'targets', targets)
return number
