/** The field of a target in which its proof stands. */
export const FIELD = 'proof';

/**
 * Changes the proof only if it is still as it was read: lane, planner and a person may come at once.
 * KEYS: target. ARGV: proof as read or '', proof, then (field, value or '' for none) pairs.
 */
export const CHANGE = `
if (redis.call('HGET', KEYS[1], '${FIELD}') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], '${FIELD}', ARGV[2])
for i = 3, #ARGV, 2 do
  if ARGV[i + 1] == '' then redis.call('HDEL', KEYS[1], ARGV[i]) else redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return 1`;
