-- Adds an entry to a feed or removes an entry, unless a later revision exists. Returns the previous state: `nothing`, `earlier` or `later`.
-- KEYS: 1 feed (hash: key → revision, blank, encrypted entry; `version`). ARGV: 1 key, 2 revision, 3 encrypted entry, or '' to remove.
local feed = KEYS[1]
local key, revision, entry = ARGV[1], ARGV[2], ARGV[3]
local stored = redis.call('HGET', feed, key)
local before = stored and tonumber(string.match(stored, '^%d+'))
if before and before > tonumber(revision) then return 'later' end
if entry == '' and not before then return 'nothing' end
if entry == '' then redis.call('HDEL', feed, key) else redis.call('HSET', feed, key, revision .. ' ' .. entry) end
local t = redis.call('TIME')
redis.call('HSET', feed, 'version', t[1] .. '-' .. t[2])
return before and 'earlier' or 'nothing'
