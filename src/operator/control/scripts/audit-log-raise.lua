-- Advances the head of a chain, never back.
-- KEYS: 1 heads. ARGV: 1 chain, 2 sequence, 3 stored head, which starts with its sequence.
-- @include ../../../state/scripts/stored
local heads = KEYS[1]
local chain, sequence, head = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local stored = redis.call('HGET', heads, chain)
if stored and wholeOf(string.match(stored, '^%d+')) >= sequence then return 0 end
redis.call('HSET', heads, chain, head)
return 1
