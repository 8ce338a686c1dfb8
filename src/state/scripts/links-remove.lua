-- Removes links. Returns the versions of the table before and after.
-- KEYS: 1 lease, 2 link table, 3… buckets. ARGV: 1 token, 2 name of the change, 3… number of the bucket's key and record id, repeated.
-- @include fence
-- @include links-touch
local versions = touch(KEYS[2], ARGV[2])
for at = 3, #ARGV, 2 do
  local bucket, recordId = KEYS[tonumber(ARGV[at])], ARGV[at + 1]
  redis.call('HDEL', bucket, recordId)
end
return versions
