/**
 * KEYS: works that wait for the host (hash: work → since; `probe:` → when one was last chosen to try soon; of an incident `incident:`, its
 * facts, sealed, `since:`, `told:` once its beginning was told, and `long:` once it was told that it lasts), and when the last outage of the
 * host ended. ARGV: work, now, pause between probes ms, life of the key ms, 1 if it may be chosen, the facts, after how long it is told that
 * it lasts ms. Answers 1 if this work is to try the host soon, and what became of the incident: `began`, `lasts` or nothing.
 */
export const WAIT_FOR_HOST = `
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
if ARGV[5] == '0' then return {0, ''} end
local became = ''
if redis.call('HSETNX', KEYS[1], 'incident:', ARGV[6]) == 1 then
  redis.call('HSET', KEYS[1], 'since:', ARGV[2])
  if redis.call('EXISTS', KEYS[2]) == 0 then
    redis.call('HSET', KEYS[1], 'told:', 1)
    became = 'began'
  end
elseif ARGV[2] - redis.call('HGET', KEYS[1], 'since:') >= tonumber(ARGV[7]) and redis.call('HSETNX', KEYS[1], 'long:', 1) == 1 then
  redis.call('HSET', KEYS[1], 'told:', 1)
  became = 'lasts'
end
local probedAt = redis.call('HGET', KEYS[1], 'probe:')
if probedAt and math.abs(ARGV[2] - probedAt) < tonumber(ARGV[3]) then return {0, became} end
redis.call('HSET', KEYS[1], 'probe:', ARGV[2])
return {1, became}`;

/**
 * KEYS: as above. ARGV: now, shortest time between two ends ms, for how long what begins anew is not told ms. Answers what was in the hash;
 * nothing if the last end is too recent, so that a host that fails now and then is not stormed.
 */
export const END_OUTAGE = `
local all = redis.call('HGETALL', KEYS[1])
if #all == 0 then return {} end
local endedAt = redis.call('GET', KEYS[2])
if endedAt and math.abs(ARGV[1] - endedAt) < tonumber(ARGV[2]) then return {} end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return all`;
