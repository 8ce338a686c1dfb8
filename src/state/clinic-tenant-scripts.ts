/** KEYS: binding. ARGV: as read or '', new. Only if it is still as it was read. */
export const BIND = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2])
return 1`;
