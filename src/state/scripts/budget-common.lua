-- Shared code of budget scripts. Times are Redis times in milliseconds, so that replicas need no common clock. A time too far in the future
-- was stored before Redis's clock was set back, and is ignored.
-- ARGV: 1 participant.
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local who = ARGV[1]
-- @include stored
local function number(key, field) return tonumber(redis.call('HGET', key, field) or 0) or 0 end
