-- Records the answer to the trial after a pause: ends the pause of the participant, and the pause of all participants if they waited too.
-- KEYS: 1 budget, 2 waiting tickets, 3 positions of participants, 4 recent refusals. ARGV: 1 participant.
-- @include budget-common
local budget, refusals = KEYS[1], KEYS[4]
redis.call('ZREM', refusals, who)
redis.call('HDEL', budget, 'refusedSince:' .. who)
for _, suffix in ipairs({'', ':' .. who}) do
  if number(budget, 'paused' .. suffix) <= now then redis.call('HDEL', budget, 'paused' .. suffix, 'trial' .. suffix) end
end
