-- Marks changes as sent, or as not sent. A newer change of a record inherits the mark, and loses the mark too.
-- KEYS: 1 lease, 2 outbox. ARGV: 1 token, 2 now, or '' for not sent, 3… record ids.
-- @include fence
-- @include stored
local outbox, sentAt = KEYS[2], tonumber(ARGV[2])
for at = 3, #ARGV do
  local recordId = ARGV[at]
  local entry = objectOf(redis.call('HGET', outbox, recordId))
  if entry then
    entry.i = sentAt ~= nil
    entry.z = sentAt
    redis.call('HSET', outbox, recordId, cjson.encode(entry))
  end
end
return 1
