-- Refuses a holder whose lease was lost. Each fenced script includes it first.
-- KEYS: 1 lease. ARGV: 1 its token.
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED') end
