/** Lua that a fenced script begins with: KEYS[1] is the lease's key, ARGV[1] its token. */
export const FENCE = `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return redis.error_reply('FENCED') end\n`;

/**
 * Takes a lease that is free, unless somebody waits for it who came before. Times are Redis's own, in microseconds; one that lies ahead
 * was noted before its clock was put back.
 *
 * KEYS: the lease, its fence, who waits (hash: place → when it came, when it asked last). ARGV: owner, time of the lease ms, place
 * ('': none is kept), life of a place ms.
 */
export const TAKE = `
local t = redis.call('TIME')
local now = t[1] * 1000000 + t[2]
local place, lifeUs = ARGV[3], ARGV[4] * 1000
local came, others = now, {}
local line = redis.call('HGETALL', KEYS[3])
for index = 1, #line, 2 do
  local cameAt, askedAt = string.match(line[index + 1], '(%d+) (%d+)')
  if line[index] == place then
    came = math.min(tonumber(cameAt), now)
  elseif math.abs(now - askedAt) < lifeUs then
    others[#others + 1] = tonumber(cameAt)
  else
    redis.call('HDEL', KEYS[3], line[index])
  end
end
local isFree = redis.call('EXISTS', KEYS[1]) == 0
for _, cameAt in ipairs(others) do isFree = isFree and cameAt > came end
if not isFree then
  if place ~= '' then
    redis.call('HSET', KEYS[3], place, string.format('%.0f %.0f', came, now))
    redis.call('PEXPIRE', KEYS[3], ARGV[4])
  end
  return false
end
redis.call('HDEL', KEYS[3], place)
local token = redis.call('INCR', KEYS[2]) .. ':' .. ARGV[1]
redis.call('SET', KEYS[1], token, 'PX', ARGV[2])
return token`;

/** KEYS: lease. ARGV: its token, time of the lease ms. Answers 0 when somebody else has it. */
export const RENEW = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])`;

/** KEYS: lease. ARGV: its token. */
export const RELEASE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** Frees what dead processes left. KEYS: lease, who waits for it. ARGV: ids of processes, which owners and places begin with. Answers how much it was. */
export const FREE_OF_DEAD = `
local freed = 0
local token = redis.call('GET', KEYS[1])
local places = redis.call('HKEYS', KEYS[2])
for _, id in ipairs(ARGV) do
  local start = id .. '/'
  if token and string.find(token, ':' .. start, 1, true) then freed = freed + redis.call('DEL', KEYS[1]) end
  for _, place in ipairs(places) do
    if string.sub(place, 1, #start) == start then freed = freed + redis.call('HDEL', KEYS[2], place) end
  end
end
return freed`;
