-- What scripts of a budget have in common. Times are Redis's own, in milliseconds, so replicas need no common clock. What lies further ahead
-- than it can was noted before that clock was put back, and counts no more.
-- ARGV: 1 participant.
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local who = ARGV[1]
local function number(key, field) return tonumber(redis.call('HGET', key, field) or 0) end
