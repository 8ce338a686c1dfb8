-- Records that targets without planned changes are in sync, unless they changed since they were read.
-- KEYS: 1 lease, 2… target, links, outbox and history, repeated. ARGV: 1 token, 2 planned at, 3 under, 4 as of ('' for none), 5 time of the
-- record by the clock of 4, 6… version of the links of each target ('' before the first).
-- @include fence
-- @include history
local plannedAt, under, asOf, at = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
for index = 2, #KEYS, 4 do
  local target, links, outbox, history = KEYS[index], KEYS[index + 1], KEYS[index + 2], KEYS[index + 3]
  local version = ARGV[5 + (index + 2) / 4]
  local isAsLooked = (redis.call('HGET', links, 'version') or '') == version and redis.call('HLEN', outbox) == 0
  local before = isAsLooked and redis.call('HMGET', target, 'adoptedAt', 'failure', 'idleAsOf')
  if before and before[1] and not before[2] then
    redis.call('HSET', target, 'lastPlannedAt', plannedAt, 'plannedUnder', under, 'comparableUnder', under)
    redis.call('HDEL', target, 'gaps')
    if asOf ~= '' then
      recordAge(history, at, before[3])
      redis.call('HSET', target, 'plannedAsOf', asOf, 'idleAsOf', asOf)
      redis.call('HDEL', target, 'unconfirmed')
    end
  end
end
return 1
