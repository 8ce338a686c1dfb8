-- Replaces a report, which may have moved within the list or left the list.
-- KEYS: 1 runs (list). ARGV: 1 report as read, 2 replacement.
local runs, before, after = KEYS[1], ARGV[1], ARGV[2]
local at = redis.call('LPOS', runs, before)
if not at then return 0 end
redis.call('LSET', runs, at, after)
return 1
