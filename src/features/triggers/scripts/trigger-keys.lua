-- Keys of an event type of one endpoint.
-- KEYS: 1 lease, 2 names (sorted set: name → 0, or the time since when the document is missing from the list), 3 waiting (hash: name →
-- message), 4 last fetch by event (hash), 5 counts (hash), 6 endpoint (hash), 7 appointments (hash: name → state).
-- ARGV: 1 token of the lease.
-- @include ../../../state/scripts/fence
-- @include ../../../state/scripts/stored
local names, waiting, counts, endpoint, appointments = KEYS[2], KEYS[3], KEYS[5], KEYS[6], KEYS[7]
