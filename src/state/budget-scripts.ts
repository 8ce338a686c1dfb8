/*
 * The scripts of a budget. Times are Redis's own, in milliseconds, so replicas need no common clock. What lies further ahead than it can
 * was noted before that clock was put back, and counts no more.
 *
 * KEYS of all: 1 the budget (hash), 2 who waits (hash: ticket → JSON), 3 how far each participant is (hash), 4 who was refused of late
 * (sorted set). Of TAKE alone: 5 what was granted (hash: `hour:<n>` and `day:<n>:<participant>` → units, numbered from 1970).
 */

const NOW = `
local t = redis.call('TIME')
local now = t[1] * 1000 + t[2] / 1000
local who = ARGV[1]
local function number(key, field) return tonumber(redis.call('HGET', key, field) or 0) end
`;

/**
 * Asks for a grant, or asks again with the same ticket. The order of grants is computed at each question, so that a dead waiter leaves no trace:
 * - Within a class, by start-time fair queueing (Goyal, Vin and Cheng 1996): a participant's next request starts where its last one
 *   ended, but never before the start of what was granted last, so that what it took while nobody waited isn't held against it. Equal
 *   starts go in the order of asking.
 * - A person's work goes first, until three units of it have gone ahead of waiting background work; then that has a turn.
 * Whoever is ahead has its units reserved, also when its holder is a little late: the others wait as if it had taken them. Grants come
 * at the rate of the budget (generic cell rate algorithm).
 *
 * ARGV: participant, ticket, class, interval ms, burst, units kept for persons, units, life of a ticket ms, time for a trial ms, pause
 * between two looks whether a trial was answered, longest pause ms, units that are likely to be wanted next, units of such that were not.
 * Who is alone and leaves half of the burst to others is granted what it will want next in the same step.
 * Answers the wait in ms (0: granted), whether that is a pause, whether the grant is the one trial after a pause, and the units ahead.
 */
export const TAKE = `${NOW}
local id, class = ARGV[2], ARGV[3]
local interval, burst, kept, units = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])

local function pauseOf(suffix)
  local endsAt = redis.call('HGET', KEYS[1], 'paused' .. suffix)
  if not endsAt then return 0, false, false end
  if endsAt - now > tonumber(ARGV[11]) then
    redis.call('HDEL', KEYS[1], 'paused' .. suffix, 'trial' .. suffix)
    return 0, false, false
  end
  if tonumber(endsAt) > now then return endsAt - now, true, true end
  local trialLeft = number(KEYS[1], 'trial' .. suffix) - now
  if trialLeft > tonumber(ARGV[9]) then trialLeft = 0 end
  return math.max(0, math.min(trialLeft, tonumber(ARGV[10]))), false, true
end
local ownWait, isPaused, isOwnTrial = pauseOf(':' .. who)
if ownWait > 0 then
  redis.call('HDEL', KEYS[2], id)
  return {math.ceil(ownWait), isPaused and 1 or 0, 0, 0}
end
local clientWait, isClientPaused, isClientTrial = pauseOf('')

local tickets, mine = {}, nil
local stored = redis.call('HGETALL', KEYS[2])
for index = 1, #stored, 2 do
  local ticket = cjson.decode(stored[index + 1])
  ticket.id = stored[index]
  if ticket.id == id then mine = ticket end
  if ticket.id == id or ticket.expiresAt > now then
    tickets[#tickets + 1] = ticket
  else
    redis.call('HDEL', KEYS[2], ticket.id)
  end
end
if not mine then
  mine = {id = id, seq = redis.call('HINCRBY', KEYS[1], 'seq', 1), who = who, class = class, units = units}
  tickets[#tickets + 1] = mine
end

local lines, ends = {interactive = {}, background = {}}, {}
table.sort(tickets, function(one, other) return one.seq < other.seq end)
for _, ticket in ipairs(tickets) do
  local flow = ticket.class .. ':' .. ticket.who
  ticket.start = ends[flow] or math.max(number(KEYS[3], 'start:' .. ticket.class), number(KEYS[3], flow))
  ends[flow] = ticket.start + ticket.units
  table.insert(lines[ticket.class], ticket)
end
for _, line in pairs(lines) do
  table.sort(line, function(one, other)
    if one.start ~= other.start then return one.start < other.start end
    return one.seq < other.seq
  end)
end

local passed, ahead, person, job = number(KEYS[3], 'passed'), 0, 1, 1
local turn
repeat
  local hurried, patient = lines.interactive[person], lines.background[job]
  if patient and (not hurried or passed >= 3 * patient.units) then
    turn, job, passed = patient, job + 1, 0
  else
    turn, person, passed = hurried, person + 1, patient and passed + hurried.units or 0
  end
  ahead = ahead + turn.units
until turn == mine

local takenUntil = math.max(number(KEYS[1], 'takenUntil'), now)
if takenUntil > now + interval * burst then
  takenUntil = now + interval * burst
  redis.call('HSET', KEYS[1], 'takenUntil', takenUntil)
end
-- The difference first: what is asked at once of all that fits must leave no rest of a rounding, for which it would wait for ever.
local wait = math.max(takenUntil - now + interval * (ahead - burst + kept), clientWait)
for index = 1, 4 do redis.call('PEXPIRE', KEYS[index], 3600000) end
if wait > 0 then
  local expiresAt = now + tonumber(ARGV[8]) + wait / 2
  local ticket = cjson.encode({seq = mine.seq, who = who, class = class, units = units, expiresAt = expiresAt})
  redis.call('HSET', KEYS[2], id, ticket)
  return {math.ceil(wait), isClientPaused and 1 or 0, 0, 0}
end
local next = 0
if #tickets == 1 and not isOwnTrial and not isClientTrial then
  local room = math.floor((now - takenUntil) / interval + burst / 2) - units
  next = math.max(0, math.min(tonumber(ARGV[12]), room))
end
redis.call('HDEL', KEYS[2], id)
redis.call('HSET', KEYS[1], 'takenUntil', takenUntil + interval * (units + next))
if #tickets == 1 then
  redis.call('DEL', KEYS[3])
else
  local start = math.max(mine.start, number(KEYS[3], 'start:' .. class))
  redis.call('HSET', KEYS[3], 'start:' .. class, start, class .. ':' .. who, mine.start + units)
  if class == 'background' then
    redis.call('HSET', KEYS[3], 'passed', 0)
  elseif #lines.background > 0 then
    redis.call('HINCRBY', KEYS[3], 'passed', units)
  end
end
local hour, day = math.floor(now / 3600000), math.floor(now / 86400000)
local used = math.max(0, units + next - ARGV[13])
redis.call('HINCRBY', KEYS[5], 'day:' .. day .. ':' .. who, used)
if redis.call('HINCRBY', KEYS[5], 'hour:' .. hour, used) == used then
  for _, field in ipairs(redis.call('HKEYS', KEYS[5])) do
    local kind, number = string.match(field, '^(%a+):(%d+)')
    if tonumber(number) < (kind == 'hour' and hour or day) - 1 then redis.call('HDEL', KEYS[5], field) end
  end
  redis.call('PEXPIRE', KEYS[5], 172800000)
end
if isOwnTrial then redis.call('HSET', KEYS[1], 'trial:' .. who, now + ARGV[9]) end
if isClientTrial then redis.call('HSET', KEYS[1], 'trial', now + ARGV[9]) end
return {0, 0, (isOwnTrial or isClientTrial) and 1 or 0, next}`;

/**
 * The other side told a participant to wait. Several who are told so within a short time mean that it is said of all: then all wait
 * until the first of these may ask again.
 * A refusal that names no pause is followed by one as long as the refusals in a row have lasted, and a little more.
 * ARGV: participant, pause ms ('' when none was named), how many are several, short time ms, and of an unnamed pause the shortest ms, the
 * longest ms and the factor.
 */
export const REFUSED = `${NOW}
local function pause(field, endsAt)
  if number(KEYS[1], field) < endsAt then redis.call('HSET', KEYS[1], field, endsAt) end
end
local since = number(KEYS[1], 'refusedSince:' .. who)
if since == 0 or since > now then
  since = now
  redis.call('HSET', KEYS[1], 'refusedSince:' .. who, since)
end
local grown = math.max(tonumber(ARGV[5]), math.min((now - since) * ARGV[7], tonumber(ARGV[6])))
pause('paused:' .. who, now + (tonumber(ARGV[2]) or grown))
redis.call('HDEL', KEYS[1], 'trial', 'trial:' .. who)
redis.call('ZADD', KEYS[4], now, who)
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', now - ARGV[4])
local refused = redis.call('ZRANGE', KEYS[4], 0, -1)
if #refused >= tonumber(ARGV[3]) then
  local first = math.huge
  for _, each in ipairs(refused) do first = math.min(first, number(KEYS[1], 'paused:' .. each)) end
  pause('paused', first)
  redis.call('DEL', KEYS[4])
end
for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, 3600000) end`;

/** The trial after a pause was answered: the pause is over for the participant, and for all when they waited too. ARGV: participant. */
export const ACCEPTED = `${NOW}
redis.call('ZREM', KEYS[4], who)
redis.call('HDEL', KEYS[1], 'refusedSince:' .. who)
for _, suffix in ipairs({'', ':' .. who}) do
  if number(KEYS[1], 'paused' .. suffix) <= now then redis.call('HDEL', KEYS[1], 'paused' .. suffix, 'trial' .. suffix) end
end`;

/**
 * KEYS: the budget. ARGV: participant, longest pause ms. Answers how long the pauses of the participant and of all last yet, in ms, and
 * since when the participant has been refused.
 */
export const PAUSE = `${NOW}
local function left(suffix)
  local ms = number(KEYS[1], 'paused' .. suffix) - now
  if ms > tonumber(ARGV[2]) then return 0 end
  return math.ceil(math.max(0, ms))
end
local since = number(KEYS[1], 'refusedSince:' .. who)
return {left(':' .. who), left(''), since == 0 and 0 or math.ceil(math.max(0, now - since))}`;

/** KEYS: what was granted. Answers Redis' time in ms, and all fields of the hash with their values. */
export const USE = `
local t = redis.call('TIME')
return {t[1] * 1000 + math.floor(t[2] / 1000), redis.call('HGETALL', KEYS[1])}`;
