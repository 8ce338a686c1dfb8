-- Records that targets without planned changes are in sync, unless they changed since they were read.
-- KEYS: 1 lease, 2… target, links and outbox, repeated. ARGV: 1 token, 2 planned at, 3 under, 4 as of ('' for none), 5… version of the links
-- of each target ('' before the first).
-- @include fence
local plannedAt, under, asOf = ARGV[2], ARGV[3], ARGV[4]
for index = 2, #KEYS, 3 do
  local target, links, outbox = KEYS[index], KEYS[index + 1], KEYS[index + 2]
  local version = ARGV[4 + (index + 1) / 3]
  local isAsLooked = (redis.call('HGET', links, 'version') or '') == version and redis.call('HLEN', outbox) == 0
  if isAsLooked and redis.call('HEXISTS', target, 'adoptedAt') == 1 and redis.call('HEXISTS', target, 'failure') == 0 then
    redis.call('HSET', target, 'lastPlannedAt', plannedAt, 'plannedUnder', under, 'comparableUnder', under)
    redis.call('HDEL', target, 'gaps')
    if asOf ~= '' then
      redis.call('HSET', target, 'plannedAsOf', asOf, 'idleAsOf', asOf)
      redis.call('HDEL', target, 'unconfirmed')
    end
  end
end
return 1
