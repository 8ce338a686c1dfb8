-- Refuses a holder without the lease. Each fenced script includes this script first.
-- KEYS: 1 lease. ARGV: 1 token of the lease.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED') end
