-- Writes fields of a credential if the version is the expected version. Returns 0 for a different version.
-- KEYS: 1 lease, 2 credential. ARGV: 1 token, 2 expected version ('' for none), 3… fields and values.
-- @include ../../state/scripts/fence
local credential, expected = KEYS[2], ARGV[2]
if (redis.call('HGET', credential, 'version') or '') ~= expected then return 0 end
redis.call('HSET', credential, unpack(ARGV, 3))
return 1
