-- KEYS: 1 lease, 2 target. ARGV: 1 token, 2 found revision.
-- @include fence
-- @include outbox-raise
raise(KEYS[2], ARGV[2])
return 1
