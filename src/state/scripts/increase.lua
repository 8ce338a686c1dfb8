-- Increases numbers in a hash.
-- KEYS: 1 hash. ARGV: 1 new lifetime in ms, or '' to keep the lifetime, 2… field and increment, repeated.
-- @include stored
for at = 2, #ARGV, 2 do increase(KEYS[1], ARGV[at], ARGV[at + 1]) end
if ARGV[1] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return 1
