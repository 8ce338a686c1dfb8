-- Notes since when documents are out of the list.
-- KEYS: as trigger-keys. ARGV: 1 token, 2… name and score in turn; a score of -1 removes the name, unless it waits.
-- @include trigger-keys
for at = 2, #ARGV, 2 do
  local name, score = ARGV[at], ARGV[at + 1]
  if score ~= '-1' then redis.call('ZADD', names, 'XX', score, name)
  elseif redis.call('HEXISTS', waiting, name) == 0 then redis.call('ZREM', names, name) end
end
return 1
