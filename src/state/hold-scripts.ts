/**
 * Changes a hold only if it is still as it was read: a plan and a person may come at once.
 * KEYS: holds. ARGV: id, as read, new or '', and id and value of the part that is taken out of it, where one is.
 */
export const CHANGE = `
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
if ARGV[4] then redis.call('HSET', KEYS[1], ARGV[4], ARGV[5]) end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1`;
