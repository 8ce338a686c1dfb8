-- KEYS: 1 lease, 2 due. ARGV: 1 token, 2… record id and due time, repeated.
-- @include fence
local due = KEYS[2]
for at = 2, #ARGV, 2 do redis.call('ZADD', due, 'XX', ARGV[at + 1], ARGV[at]) end
return 1
