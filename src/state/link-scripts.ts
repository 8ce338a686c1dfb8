import { FENCE } from './lease-scripts.ts';

/**
 * Gives a link table its next version, a number and what its writer calls the change: a Redis that went back in time may come to the same
 * number again. It tells the version before and the new one, by which whoever knows the links of the one knows those of the other.
 */
export const TOUCH = `
local function touch(meta, writer)
  local before = redis.call('HGET', meta, 'version')
  local after = ((string.match(before or '', '^%d+') or '0') + 1) .. ' ' .. writer
  redis.call('HSET', meta, 'version', after)
  return {before, after}
end`;

// KEYS of those that change links: lease, table, then buckets. ARGV: token, name of the change, then what each says.
const CHANGE = `${FENCE}${TOUCH}
local versions = touch(KEYS[2], ARGV[2])`;

export const WRITE = `${CHANGE}
for i = 3, #ARGV, 3 do redis.call('HSET', KEYS[tonumber(ARGV[i])], ARGV[i + 1], ARGV[i + 2]) end
return 1`;

// A lane may write the same link meanwhile: only the time of one that still tells of the same item is set.
export const NOTE_TIMES = `${CHANGE}
for i = 3, #ARGV, 4 do
  local bucket, id = KEYS[tonumber(ARGV[i])], ARGV[i + 1]
  local fingerprint, rest = string.match(redis.call('HGET', bucket, id) or '', '^([^\\t]*)\\t[^\\t]*(.*)$')
  if fingerprint == ARGV[i + 2] then redis.call('HSET', bucket, id, fingerprint .. '\\t' .. ARGV[i + 3] .. rest) end
end
return 1`;

export const REMOVE = `${CHANGE}
for i = 3, #ARGV, 2 do redis.call('HDEL', KEYS[tonumber(ARGV[i])], ARGV[i + 1]) end
return versions`;

export const UNLINK = `${FENCE}
for i = 2, #KEYS do redis.call('UNLINK', KEYS[i]) end
return 1`;

export const FLIP = `${CHANGE}
redis.call('HSET', KEYS[2], 'generation', ARGV[3], 'buckets', ARGV[4])
return 1`;
