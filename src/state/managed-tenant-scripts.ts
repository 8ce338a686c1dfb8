/** No tenant has such a name: the field of the version. */
export const VERSION = '*';

/**
 * KEYS: revisions, tenants. ARGV: tenant, revision that is expected ('' for none), version, then revision and sealed text of the next, if
 * there is one. A version begins with the first one that this Redis had: another beginning tells that it was emptied.
 */
export const CHANGE = `
if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
if ARGV[4] then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[4])
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[5])
else
  redis.call('HDEL', KEYS[1], ARGV[1])
  redis.call('HDEL', KEYS[2], ARGV[1])
end
local before = redis.call('HGET', KEYS[1], '${VERSION}')
local first = before and string.match(before, '^[^:]+') or ARGV[3]
redis.call('HSET', KEYS[1], '${VERSION}', first .. ':' .. ARGV[3])
return 1`;
