/**
 * KEYS: epoch. ARGV: the highest known mark, now, by how much to go on. A counter behind the mark is set to it, so that each step back is
 * told once. Answers counter, when it was last raised, when it last went back, and to when.
 */
export const ADVANCE = `
local counter = tonumber(redis.call('HGET', KEYS[1], 'counter') or '0')
local mark = tonumber(ARGV[1])
local at = redis.call('HGET', KEYS[1], 'at') or '0'
if counter < mark then
  redis.call('HSET', KEYS[1], 'wentBackAt', ARGV[2], 'wentBackTo', at, 'counter', mark)
  counter = mark
end
if ARGV[3] ~= '0' then
  counter = redis.call('HINCRBY', KEYS[1], 'counter', ARGV[3])
  redis.call('HSET', KEYS[1], 'at', ARGV[2])
  at = ARGV[2]
end
return {counter, at, redis.call('HGET', KEYS[1], 'wentBackAt') or '0', redis.call('HGET', KEYS[1], 'wentBackTo') or '0'}`;
