-- Sets the times of links. A lane may write a link concurrently: only links with an equal fingerprint are changed.
-- KEYS: 1 lease, 2 link table, 3… buckets. ARGV: 1 token, 2 name of the change, 3… number of the bucket's key, record id, fingerprint and
-- times, repeated.
-- @include fence
-- @include links-touch
touch(KEYS[2], ARGV[2])
for at = 3, #ARGV, 4 do
  local bucket, recordId, expected, times = KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local fingerprint, rest = string.match(redis.call('HGET', bucket, recordId) or '', '^([^\t]*)\t[^\t]*(.*)$')
  if fingerprint == expected then redis.call('HSET', bucket, recordId, fingerprint .. '\t' .. times .. rest) end
end
return 1
