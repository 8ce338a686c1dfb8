-- Keys of one endpoint's event.
-- KEYS: 1 lease, 2 names (sorted set: name → 0, or since when its document is out of the list), 3 waiting (hash: name → entry), 4 readings
-- (hash), 5 counts (hash), 6 endpoint (hash), 7 appointments (hash: name → entry). ARGV: 1 the lease's token.
-- @include ../../../state/scripts/fence
local names, waiting, counts, endpoint, appointments = KEYS[2], KEYS[3], KEYS[5], KEYS[6], KEYS[7]
