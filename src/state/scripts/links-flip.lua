-- Switches a link table to a different layout.
-- KEYS: 1 lease, 2 link table. ARGV: 1 token, 2 name of the change, 3 layout, 4 number of buckets.
-- @include fence
-- @include links-touch
local links, layout, buckets = KEYS[2], ARGV[3], ARGV[4]
touch(links, ARGV[2])
redis.call('HSET', links, 'generation', layout, 'buckets', buckets)
return 1
