-- Counts the changes of a target, in its record and in its history.
-- KEYS: 1 target, 2 history. ARGV: 1 local day, 2 created, 3 updated, 4 deleted, 5… field and increment, repeated.
-- @include stored
-- @include history
for at = 5, #ARGV, 2 do increase(KEYS[1], ARGV[at], ARGV[at + 1]) end
local created, updated, deleted = ARGV[2], ARGV[3], ARGV[4]
if created + updated + deleted > 0 then recordChanges(KEYS[2], ARGV[1], created, updated, deleted) end
return 1
