-- Moves the head of a chain on, never back.
-- KEYS: 1 heads. ARGV: 1 chain, 2 sequence, 3 head as it is stored: it begins with its sequence.
local heads = KEYS[1]
local chain, sequence, head = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local stored = redis.call('HGET', heads, chain)
if stored and tonumber(string.match(stored, '^%d+')) >= sequence then return 0 end
redis.call('HSET', heads, chain, head)
return 1
