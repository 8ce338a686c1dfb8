-- Records the time since when documents are missing from the list.
-- KEYS: see trigger-keys. ARGV: 1 token, 2… name and score, repeated; the score -1 removes the name unless its message waits.
-- @include trigger-keys
for at = 2, #ARGV, 2 do
  local name, score = ARGV[at], ARGV[at + 1]
  if score ~= '-1' then redis.call('ZADD', names, 'XX', score, name)
  elseif redis.call('HEXISTS', waiting, name) == 0 then redis.call('ZREM', names, name) end
end
return 1
