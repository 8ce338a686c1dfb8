-- The other side told a participant to wait. Several who are told so within a short time mean that it is said of all: then all wait
-- until the first of these may ask again. A refusal that names no pause is followed by one as long as the refusals in a row have lasted,
-- and a little more.
-- KEYS: 1 budget, 2 who waits, 3 how far each participant is, 4 who was refused of late.
-- ARGV: 1 participant, 2 pause ms ('' when none was named), 3 how many are several, 4 short time ms, and of an unnamed pause 5 the shortest
-- ms, 6 the longest ms, 7 the factor.
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
