-- Writes links.
-- KEYS: 1 lease, 2 link table, 3… buckets. ARGV: 1 token, 2 name of the change, 3… number of the bucket's key, record id and link, repeated.
-- @include fence
-- @include links-touch
touch(KEYS[2], ARGV[2])
for at = 3, #ARGV, 3 do
  local bucket, recordId, link = KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2]
  redis.call('HSET', bucket, recordId, link)
end
return 1
