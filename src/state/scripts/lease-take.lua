-- Takes a free lease unless an earlier waiter exists. Times are Redis times in microseconds; a future time was stored before Redis's clock
-- was set back. Returns the token, or nil.
-- KEYS: 1 lease, 2 fence, 3 waiters (hash: waiter → time of arrival, time of the last question).
-- ARGV: 1 owner, 2 time of the lease ms, 3 waiter ('': not stored), 4 life of a waiter ms.
-- @include stored
local lease, fence, waiting = KEYS[1], KEYS[2], KEYS[3]
local owner, leaseMs, waiter, waiterLifeMs = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local came, others = now, {}
local line = redis.call('HGETALL', waiting)
for index = 1, #line, 2 do
  local cameAt, askedAt = string.match(line[index + 1], '(%d+) (%d+)')
  if line[index] == waiter then
    came = math.min(tonumber(cameAt) or now, now)
  elseif cameAt and math.abs(now - askedAt) < waiterLifeMs * 1000 then
    others[#others + 1] = tonumber(cameAt)
  else
    redis.call('HDEL', waiting, line[index])
  end
end
local isFree = redis.call('EXISTS', lease) == 0
for _, cameAt in ipairs(others) do isFree = isFree and cameAt > came end
if not isFree then
  if waiter ~= '' then
    redis.call('HSET', waiting, waiter, string.format('%.0f %.0f', came, now))
    redis.call('PEXPIRE', waiting, waiterLifeMs)
  end
  return false
end
redis.call('HDEL', waiting, waiter)
local token = count(fence) .. ':' .. owner
redis.call('SET', lease, token, 'PX', leaseMs)
return token
