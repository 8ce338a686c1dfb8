-- Removes keys. Answers how many there were.
-- KEYS: 1 lease, 2… keys. ARGV: 1 token.
-- @include fence
return redis.call('UNLINK', unpack(KEYS, 2))
