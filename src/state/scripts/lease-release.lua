-- KEYS: 1 lease. ARGV: 1 token of the lease.
local lease, token = KEYS[1], ARGV[1]
if redis.call('GET', lease) ~= token then return 0 end
return redis.call('DEL', lease)
