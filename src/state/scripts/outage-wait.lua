-- Records that work waits for a host. Returns 1 if the work should try the host soon, and the change of the incident: `began`, `lasts` or ''.
-- KEYS: 1 waiting works of the host (hash: work → since; `probe:` → last choice of a work to try the host; for an incident `incident:` with
-- encrypted facts of the first error, `cause:` with those of the last, `since:`, `told:` after its start was reported, and `long:` after its duration was reported), 2 end of the last outage.
-- ARGV: 1 work, 2 now, 3 pause between probes ms, 4 life of the key ms, 5 '1' if the work may be chosen, 6 facts, 7 duration before a report
-- of a lasting outage ms.
-- @include stored
local waiting, ended = KEYS[1], KEYS[2]
local work, now, probeEveryMs, lifeMs, mayTry, facts = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4], ARGV[5] == '1', ARGV[6]
local lastsAfterMs = tonumber(ARGV[7])
redis.call('HSETNX', waiting, work, now)
redis.call('PEXPIRE', waiting, lifeMs)
if not mayTry then return {0, ''} end
redis.call('HSET', waiting, 'cause:', facts)
local became = ''
if redis.call('HSETNX', waiting, 'incident:', facts) == 1 then
  redis.call('HSET', waiting, 'since:', now)
  if redis.call('EXISTS', ended) == 0 then
    redis.call('HSET', waiting, 'told:', 1)
    became = 'began'
  end
elseif now - wholeOf(redis.call('HGET', waiting, 'since:')) >= lastsAfterMs and redis.call('HSETNX', waiting, 'long:', 1) == 1 then
  redis.call('HSET', waiting, 'told:', 1)
  became = 'lasts'
end
local probedAt = wholeOf(redis.call('HGET', waiting, 'probe:'))
if math.abs(now - probedAt) < probeEveryMs then return {0, became} end
redis.call('HSET', waiting, 'probe:', now)
return {1, became}
