-- Renews a lease. Returns 0 if a different owner has the lease.
-- KEYS: 1 lease. ARGV: 1 token of the lease, 2 time of the lease ms.
local lease, token, leaseMs = KEYS[1], ARGV[1], ARGV[2]
if redis.call('GET', lease) ~= token then return 0 end
return redis.call('PEXPIRE', lease, leaseMs)
