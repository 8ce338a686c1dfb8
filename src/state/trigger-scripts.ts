import { FENCE } from './lease-scripts.ts';

/*
 * Scripts over one endpoint's event. KEYS: 1 lease, 2 known (zset: name → 0, or since when its document is out of the list),
 * 3 waiting (hash: name → entry), 4 readings (hash), 5 counts (hash), 6 endpoint (hash), 7 appointments (hash: name → entry). ARGV: 1 the lease's token.
 */

/** ARGV: 2… names that are taken as told of. */
export const KNOW = `${FENCE}
for at = 2, #ARGV do redis.call('ZADD', KEYS[2], 'NX', 0, ARGV[at]) end
return 1`;

/** ARGV: 2… name and entry in turn. A known one is left as it is. @returns how many are new */
export const NOTE = `${FENCE}
local noted = 0
for at = 2, #ARGV, 2 do
  if redis.call('ZADD', KEYS[2], 'NX', 0, ARGV[at]) == 1 then
    redis.call('HSET', KEYS[3], ARGV[at], ARGV[at + 1])
    noted = noted + 1
  end
end
return noted`;

/**
 * ARGV: 2… name of the appointment, how it is now or '' to remove it, id and entry of the message or '' twice, in turn. How it is and what
 * is to be said of it are one. @returns how many messages
 */
export const FOLLOW = `${FENCE}
local noted = 0
for at = 2, #ARGV, 4 do
  if ARGV[at + 1] == '' then redis.call('HDEL', KEYS[7], ARGV[at])
  else redis.call('HSET', KEYS[7], ARGV[at], ARGV[at + 1]) end
  if ARGV[at + 2] ~= '' then
    redis.call('HSET', KEYS[3], ARGV[at + 2], ARGV[at + 3])
    noted = noted + 1
  end
end
return noted`;

/** ARGV: 2… name and score in turn; a score of -1 removes the name, unless it waits. */
export const SEEN = `${FENCE}
for at = 2, #ARGV, 2 do
  if ARGV[at + 1] ~= '-1' then redis.call('ZADD', KEYS[2], 'XX', ARGV[at + 1], ARGV[at])
  elseif redis.call('HEXISTS', KEYS[3], ARGV[at]) == 0 then redis.call('ZREM', KEYS[2], ARGV[at]) end
end
return 1`;

/** ARGV: 2 field of the readings, 3 the reading. */
export const READ = `${FENCE}
redis.call('HSET', KEYS[4], ARGV[2], ARGV[3])
return 1`;

/** ARGV: 2 name, 3 field of the counts, 4 now. What is taken shows that the endpoint answers again. */
export const SENT = `${FENCE}
if redis.call('HDEL', KEYS[3], ARGV[2]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[5], ARGV[3], 1)
redis.call('HDEL', KEYS[6], 'restUntil', 'failingSince', 'code')
redis.call('HSET', KEYS[6], 'lastSentAt', ARGV[4])
return 1`;

/** ARGV: 2 name, 3 field of the counts, 4 '1' when its document may be told of again. */
export const DROP = `${FENCE}
if redis.call('HDEL', KEYS[3], ARGV[2]) == 0 then return 0 end
redis.call('HINCRBY', KEYS[5], ARGV[3], 1)
if ARGV[4] == '1' then redis.call('ZREM', KEYS[2], ARGV[2]) end
return 1`;

/** ARGV: 2 name, 3 field of the counts or '', 4 entry. */
export const DEFER = `${FENCE}
if redis.call('HEXISTS', KEYS[3], ARGV[2]) == 0 then return 0 end
redis.call('HSET', KEYS[3], ARGV[2], ARGV[4])
if ARGV[3] ~= '' then redis.call('HINCRBY', KEYS[5], ARGV[3], 1) end
return 1`;
