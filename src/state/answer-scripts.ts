/** KEYS: entry, claim. ARGV: token, answer or '', at. */
export const END = `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[2])
if ARGV[2] == '' or redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
if redis.call('HSETNX', KEYS[1], 'answer', ARGV[2]) == 1 then redis.call('HSET', KEYS[1], 'answeredAt', ARGV[3]) end
return 1`;
