-- Sets the times of links. A lane may write a link concurrently: only links with an equal fingerprint are changed.
-- A rebuilt link (last of ten fields `r`) holds correct content from now on.
-- KEYS: 1 lease, 2 link table, 3… buckets. ARGV: 1 token, 2 name of the change, 3… number of the bucket's key, record id, fingerprint and
-- times, repeated.
-- @include fence
-- @include links-touch
touch(KEYS[2], ARGV[2])
local rebuilt = '^(' .. string.rep('\t[^\t]*', 7) .. '\t)r$'
for at = 3, #ARGV, 4 do
  local bucket, recordId, expected, times = KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local fingerprint, rest = string.match(redis.call('HGET', bucket, recordId) or '', '^([^\t]*)\t[^\t]*(.*)$')
  if fingerprint == expected then redis.call('HSET', bucket, recordId, fingerprint .. '\t' .. times .. string.gsub(rest, rebuilt, '%1u')) end
end
return 1
