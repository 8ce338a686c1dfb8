/** KEYS: configuration, leases of planner, reader of streams and lanes… ARGV: the number that was read, hash, targets. */
export const REGISTER = `
local number = tonumber(redis.call('HGET', KEYS[1], 'number') or '0')
if number ~= tonumber(ARGV[1]) then return -1 end
if redis.call('HGET', KEYS[1], 'hash') ~= ARGV[2] then
  number = number + 1
  for i = 2, #KEYS do redis.call('DEL', KEYS[i]) end
end
redis.call('HSET', KEYS[1], 'number', number, 'hash', ARGV[2], 'targets', ARGV[3])
return number`;

/**
 * KEYS: configuration. ARGV: own number, hash, targets, now. What a lost or older state doesn't know is put back. Returns the number of
 * ours, a later one when another came and went in between; 0 when another one is the newest.
 */
export const CHECK = `
local number, mine = tonumber(redis.call('HGET', KEYS[1], 'number') or '0'), tonumber(ARGV[1])
if number >= mine and redis.call('HGET', KEYS[1], 'hash') ~= ARGV[2] then
  redis.call('HSET', KEYS[1], 'refusedAt', ARGV[4])
  return 0
end
if number < mine then redis.call('HSET', KEYS[1], 'number', mine, 'hash', ARGV[2], 'targets', ARGV[3]) end
return math.max(number, mine)`;
