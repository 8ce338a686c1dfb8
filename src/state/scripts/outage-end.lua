-- Ends the outage of a host. Returns the content of the hash; empty if the last outage ended too recently, so that an unstable host is not
-- overloaded.
-- KEYS: 1 waiting works of the host, 2 end of the last outage.
-- ARGV: 1 now, 2 shortest time between two ends ms, 3 time without reports of a new outage ms.
-- @include stored
local waiting, ended = KEYS[1], KEYS[2]
local now, leastBetweenMs, silentMs = ARGV[1], tonumber(ARGV[2]), ARGV[3]
local all = redis.call('HGETALL', waiting)
if #all == 0 then return {} end
local endedAt = wholeOf(redis.call('GET', ended))
if math.abs(now - endedAt) < leastBetweenMs then return {} end
redis.call('DEL', waiting)
redis.call('SET', ended, now, 'PX', silentMs)
return all
