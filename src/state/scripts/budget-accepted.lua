-- The trial after a pause was answered: the pause is over for the participant, and for all when they waited too.
-- KEYS: 1 budget, 2 who waits, 3 how far each participant is, 4 who was refused of late. ARGV: 1 participant.
-- @include budget-common
local budget, refusals = KEYS[1], KEYS[4]
redis.call('ZREM', refusals, who)
redis.call('HDEL', budget, 'refusedSince:' .. who)
for _, suffix in ipairs({'', ':' .. who}) do
  if number(budget, 'paused' .. suffix) <= now then redis.call('HDEL', budget, 'paused' .. suffix, 'trial' .. suffix) end
end
