import { FENCE } from './lease-scripts.ts';

/** KEYS: lease, removed. ARGV: token, now, how many are missed, their names, names that end. */
export const NOTE = `${FENCE}
local missed = tonumber(ARGV[3])
for i = 4, #ARGV do
  if i < 4 + missed then redis.call('HSETNX', KEYS[2], ARGV[i], ARGV[2]) else redis.call('HDEL', KEYS[2], ARGV[i]) end
end
return 1`;

/** KEYS: lease, then what goes. ARGV: token. Answers how many there were. */
export const UNLINK = `${FENCE}
return redis.call('UNLINK', unpack(KEYS, 2))`;
