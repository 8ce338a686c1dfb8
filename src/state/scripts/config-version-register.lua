-- Registers the configuration of a process: a new configuration gets the next number and takes the leases of earlier configurations.
-- KEYS: 1 configuration, 2… leases of planner, stream reader and lanes. ARGV: 1 number as read, 2 hash, 3 targets.
-- Returns the number; -1 if a different process registered meanwhile.
-- @include stored
local configuration = KEYS[1]
local read, hash, targets = wholeOf(ARGV[1]), ARGV[2], ARGV[3]
local number = wholeOf(redis.call('HGET', configuration, 'number'))
if number ~= read then return -1 end
if number == 0 or redis.call('HGET', configuration, 'hash') ~= hash then
  number = number + 1
  for index = 2, #KEYS do redis.call('DEL', KEYS[index]) end
end
redis.call('HSET', configuration, 'number', number, 'hash', hash, 'targets', targets)
return number
