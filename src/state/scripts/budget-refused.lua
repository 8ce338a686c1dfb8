-- Records that the vendor asked a participant to wait. Several refused participants within a short time pause the whole budget, until the
-- first of them may try again. A refusal without a named pause causes a pause slightly longer than the duration of the consecutive refusals.
-- KEYS: 1 budget, 2 waiting tickets, 3 positions of participants, 4 recent refusals.
-- ARGV: 1 participant, 2 pause ms ('' if unnamed), 3 participants that pause the budget, 4 short time ms; for an unnamed pause 5 shortest
-- ms, 6 longest ms, 7 factor.
-- @include budget-common
local budget, refusals = KEYS[1], KEYS[4]
local namedMs, several, shortTimeMs = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local shortestMs, longestMs, factor = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local function pause(field, endsAt)
  if number(budget, field) < endsAt then redis.call('HSET', budget, field, endsAt) end
end
local since = number(budget, 'refusedSince:' .. who)
if since == 0 or since > now then
  since = now
  redis.call('HSET', budget, 'refusedSince:' .. who, since)
end
local grownMs = math.max(shortestMs, math.min((now - since) * factor, longestMs))
pause('paused:' .. who, now + (namedMs or grownMs))
redis.call('HDEL', budget, 'trial', 'trial:' .. who)
redis.call('ZADD', refusals, now, who)
redis.call('ZREMRANGEBYSCORE', refusals, '-inf', now - shortTimeMs)
local refused = redis.call('ZRANGE', refusals, 0, -1)
if #refused >= several then
  local first = math.huge
  for _, each in ipairs(refused) do first = math.min(first, number(budget, 'paused:' .. each)) end
  pause('paused', first)
  redis.call('DEL', refusals)
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 3600000) end
