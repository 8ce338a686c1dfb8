/** The field of a target in which its proof stands. */
export const FIELD = 'proof';

/**
 * Changes the proof only if it is still as it was read: lane, planner and a person may come at once. What is no text counts as no value:
 * clinic-mirror did not write it.
 * KEYS: target, and a value that changes with it. ARGV: proof as read or '', proof, the value as read or '', the value or '' for none, then
 * (field, value or '' for none) pairs.
 */
export const CHANGE = `
if (redis.call('HGET', KEYS[1], '${FIELD}') or '') ~= ARGV[1] then return 0 end
if KEYS[2] then
  local beside = redis.pcall('GET', KEYS[2])
  if (type(beside) == 'string' and beside or '') ~= ARGV[3] then return -1 end
  if ARGV[4] == '' then redis.call('DEL', KEYS[2]) else redis.call('SET', KEYS[2], ARGV[4]) end
end
redis.call('HSET', KEYS[1], '${FIELD}', ARGV[2])
for i = 5, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i]) else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return 1`;

/** Takes fields out only while the proof is still the one that did not open. KEYS: target. ARGV: proof as read or '', the fields. */
export const SET_ASIDE = `
if (redis.call('HGET', KEYS[1], '${FIELD}') or '') ~= ARGV[1] then return 0 end
redis.call('HDEL', KEYS[1], unpack(ARGV, 2))
redis.call('HINCRBY', KEYS[1], 'forged', 1)
return 1`;
