-- Replaces a report, which may have moved on in the list, or out of it.
-- KEYS: 1 runs (list). ARGV: 1 a report as it was read, 2 the one that takes its place.
local runs, before, after = KEYS[1], ARGV[1], ARGV[2]
local at = redis.call('LPOS', runs, before)
if not at then return 0 end
redis.call('LSET', runs, at, after)
return 1
