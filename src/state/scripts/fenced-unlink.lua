-- Removes keys. Returns the number of removed keys.
-- KEYS: 1 lease, 2… keys. ARGV: 1 token.
-- @include fence
return redis.call('UNLINK', unpack(KEYS, 2))
