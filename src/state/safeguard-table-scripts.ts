/** The field in which the record stands. */
export const FIELD = 'proof';

/** KEYS: protection, tables. ARGV: '1' for their entries, else their counts. */
export const LOOK = `
local told = {redis.call('HGET', KEYS[1], '${FIELD}')}
for i = 2, #KEYS do told[i] = redis.call(ARGV[1] == '1' and 'HGETALL' or 'HLEN', KEYS[i]) end
return told`;

/**
 * Only if record and entry are still as they were read.
 * KEYS: protection, table where an entry changes. ARGV: record as read or '', record, name, value as read or '', value or '' for none.
 */
export const CHANGE = `
if (redis.call('HGET', KEYS[1], '${FIELD}') or '') ~= ARGV[1] then return 0 end
if KEYS[2] then
  if (redis.call('HGET', KEYS[2], ARGV[3]) or '') ~= ARGV[4] then return 0 end
  if ARGV[5] == '' then redis.call('HDEL', KEYS[2], ARGV[3]) else redis.call('HSET', KEYS[2], ARGV[3], ARGV[5]) end
end
redis.call('HSET', KEYS[1], '${FIELD}', ARGV[2])
return 1`;
