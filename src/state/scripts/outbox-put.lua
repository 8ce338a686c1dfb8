-- Adds changes. A change replaces an older change of its record, and keeps whether, when and under which key the older change was sent.
-- KEYS: 1 lease, 2 target, 3 outbox, 4 due, 5 failing. ARGV: 1 token, 2 now, 3… record id and change (JSON), repeated.
-- @include fence
-- @include stored
local target, outbox, due, failing = KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now = ARGV[2]
for at = 3, #ARGV, 2 do
  local recordId, entry = ARGV[at], cjson.decode(ARGV[at + 1])
  local stored = redis.call('HGET', outbox, recordId)
  entry.r = increase(target, 'revision', 1)
  local before = objectOf(stored)
  if before then
    entry.i = before.i
    entry.z = before.z
    entry.k = before.k
  end
  redis.call('HSET', outbox, recordId, cjson.encode(entry))
  redis.call('ZADD', due, now, recordId)
  redis.call('ZREM', failing, recordId)
end
return 1
