-- Frees leases and queue positions of dead processes. Returns their number.
-- KEYS: 1 lease, 2 waiters. ARGV: ids of processes, which prefix owners and waiters.
local lease, waiting = KEYS[1], KEYS[2]
local freed = 0
local token = redis.call('GET', lease)
local waiters = redis.call('HKEYS', waiting)
for _, id in ipairs(ARGV) do
  local start = id .. '/'
  if token and string.find(token, ':' .. start, 1, true) then freed = freed + redis.call('DEL', lease) end
  for _, waiter in ipairs(waiters) do
    if string.sub(waiter, 1, #start) == start then freed = freed + redis.call('HDEL', waiting, waiter) end
  end
end
return freed
