/** No tenant has such a name: the field of the version. */
export const VERSION = '*';
/** The field of the sealed head, which names all revisions. */
export const HEAD = '*head';

/**
 * Changes documents and the head over them in one step, as long as the head and each revision are as they were read.
 * KEYS: revisions, tenants. ARGV: head as read or '', next head, version, then of each tenant its id, the revision that is expected ('' for
 * none), revision and sealed text of the next, or '' twice where it goes. A version begins with the first one that this Redis had: another
 * beginning tells that it was emptied.
 */
export const CHANGE = `
if (redis.call('HGET', KEYS[1], '${HEAD}') or '') ~= ARGV[1] then return 0 end
for i = 4, #ARGV, 4 do
  if (redis.call('HGET', KEYS[1], ARGV[i]) or '') ~= ARGV[i + 1] then return 0 end
end
for i = 4, #ARGV, 4 do
  if ARGV[i + 2] == '' then
    redis.call('HDEL', KEYS[1], ARGV[i])
    redis.call('HDEL', KEYS[2], ARGV[i])
  else
    redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 2])
    redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 3])
  end
end
local before = redis.call('HGET', KEYS[1], '${VERSION}')
local first = before and string.match(before, '^[^:]+') or ARGV[3]
redis.call('HSET', KEYS[1], '${HEAD}', ARGV[2], '${VERSION}', first .. ':' .. ARGV[3])
return 1`;
