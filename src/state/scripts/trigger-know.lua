-- Takes names as told of, without a message.
-- KEYS: as trigger-keys. ARGV: 1 token, 2… names.
-- @include trigger-keys
for at = 2, #ARGV do redis.call('ZADD', known, 'NX', 0, ARGV[at]) end
return 1
