-- Ends the outage of a host. Answers what was in the hash; nothing if the last end is too recent, so that a host that fails now and then is
-- not stormed.
-- KEYS: 1 works that wait for the host, 2 when the last outage ended.
-- ARGV: 1 now, 2 shortest time between two ends ms, 3 for how long what begins again is not told ms.
local waiting, ended = KEYS[1], KEYS[2]
local now, leastBetweenMs, silentMs = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local all = redis.call('HGETALL', waiting)
if #all == 0 then return {} end
local endedAt = redis.call('GET', ended)
if endedAt and math.abs(now - endedAt) < leastBetweenMs then return {} end
redis.call('DEL', waiting)
redis.call('SET', ended, now, 'PX', silentMs)
return all
