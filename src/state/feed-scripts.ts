/** In the hash of a feed beside its entries, whose names are 32 characters long. */
export const VERSION = 'version';

const VERSIONED = `local t = redis.call('TIME') redis.call('HSET', KEYS[1], '${VERSION}', t[1] .. '-' .. t[2])`;

const STOOD = `
local stored = redis.call('HGET', KEYS[1], ARGV[1])
local before = stored and tonumber(string.match(stored, '^%d+'))
if before and before > tonumber(ARGV[2]) then return 'later' end`;

/** KEYS: feed. ARGV: key, revision, entry. */
export const PUT = `${STOOD}
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2] .. ' ' .. ARGV[3])
${VERSIONED}
return before and 'earlier' or 'nothing'`;

/** KEYS: feed. ARGV: key, revision. */
export const TAKE_OUT = `${STOOD}
if not before then return 'nothing' end
redis.call('HDEL', KEYS[1], ARGV[1])
${VERSIONED}
return 'earlier'`;
