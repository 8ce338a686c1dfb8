/**
 * KEYS: works that wait for the host (hash: work → since; `probe:` → when one was last chosen to try soon). ARGV: work, now, pause between
 * probes ms, life of the key ms, 1 if it may be chosen. Answers 1 if this work is to try the host soon.
 */
export const WAIT_FOR_HOST = `
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
if ARGV[5] == '0' then return 0 end
local probedAt = redis.call('HGET', KEYS[1], 'probe:')
if probedAt and math.abs(ARGV[2] - probedAt) < tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'probe:', ARGV[2])
return 1`;

/**
 * KEYS: as above, and when the last outage of the host ended. ARGV: now, shortest time between two ends ms. Answers the works that waited;
 * none if the last end is too recent, so that a host that fails now and then is not stormed.
 */
export const END_OUTAGE = `
local works = redis.call('HKEYS', KEYS[1])
if #works == 0 then return {} end
local endedAt = redis.call('GET', KEYS[2])
if endedAt and math.abs(ARGV[1] - endedAt) < tonumber(ARGV[2]) then return {} end
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[2])
return works`;
