-- Requests a grant, or repeats a request with an equal ticket. Each request computes the order of grants, so that a dead waiter leaves no
-- trace:
-- - Within a class, start-time fair queueing (Goyal, Vin and Cheng 1996): a participant's next request starts at the end of the last one, but
--   never before the start of the last grant, so that use without competition is no disadvantage later. Equal starts keep the order of arrival.
-- - Interactive work is first, until three units have passed waiting background work; then one background grant follows.
-- Units of earlier tickets are reserved, even if their holders are slightly late: later tickets wait as if the units were granted. Grants
-- follow the rate of the budget (generic cell rate algorithm). A single participant that leaves half of the burst to others also gets its
-- likely next units in this step.
-- KEYS: 1 budget (hash), 2 waiting tickets (hash: ticket → JSON), 3 positions of participants (hash), 4 recent refusals (sorted set),
-- 5 grants (hash: `hour:<n>` and `day:<n>:<participant>` → units, numbered from 1970).
-- ARGV: 1 participant, 2 ticket, 3 class, 4 interval ms, 5 burst, 6 units reserved for interactive work, 7 units, 8 life of a ticket ms,
-- 9 time limit of a trial ms, 10 interval for checking a trial, 11 longest pause ms, 12 likely next units, 13 unused earlier advance units,
-- 14 ms by which the unused units still delay the budget.
-- Returns the wait in ms (0: granted), whether the wait is a pause, whether the grant is the trial after a pause, the advance units, and the
-- ms by which earlier grants delay the budget.
-- @include budget-common
local budget, waiting, shares, granted = KEYS[1], KEYS[2], KEYS[3], KEYS[5]
local id, class = ARGV[2], ARGV[3]
local interval, burst, reserved, units = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
local ticketLifeMs, trialMs, trialLookMs = tonumber(ARGV[8]), tonumber(ARGV[9]), tonumber(ARGV[10])
local longestPauseMs, wantedNext, unused, unusedMs = tonumber(ARGV[11]), tonumber(ARGV[12]), tonumber(ARGV[13]), tonumber(ARGV[14])
local read = redis.call('HMGET', budget, 'takenUntil', 'paused', 'paused:' .. who)

local function pauseOf(suffix, stored)
  local endsAt = tonumber(stored or 0) or 0
  if endsAt == 0 then return 0, false, false end
  if endsAt - now > longestPauseMs then
    redis.call('HDEL', budget, 'paused' .. suffix, 'trial' .. suffix)
    return 0, false, false
  end
  if endsAt > now then return endsAt - now, true, true end
  local trialRemainingMs = number(budget, 'trial' .. suffix) - now
  if trialRemainingMs > trialMs then trialRemainingMs = 0 end
  return math.max(0, math.min(trialRemainingMs, trialLookMs)), false, true
end
local ownWait, isPaused, isOwnTrial = pauseOf(':' .. who, read[3])
if ownWait > 0 then
  redis.call('HDEL', waiting, id)
  return {math.ceil(ownWait), isPaused and 1 or 0, 0, 0, 0}
end
local clientWait, isClientPaused, isClientTrial = pauseOf('', read[2])

local function ticketOf(text)
  local ticket = objectOf(text)
  local isTicket = ticket and (ticket.class == 'interactive' or ticket.class == 'background') and type(ticket.who) == 'string'
    and type(ticket.seq) == 'number' and type(ticket.units) == 'number' and type(ticket.expiresAt) == 'number'
  return isTicket and ticket or nil
end
local tickets, mine = {}, nil
local stored = redis.call('HGETALL', waiting)
for index = 1, #stored, 2 do
  local ticket = ticketOf(stored[index + 1])
  if ticket then ticket.id = stored[index] end
  if ticket and ticket.id == id then mine = ticket end
  if ticket and (ticket.id == id or ticket.expiresAt > now) then
    tickets[#tickets + 1] = ticket
  else
    redis.call('HDEL', waiting, stored[index])
  end
end
local isNew = not mine
if isNew then
  mine = {id = id, seq = math.huge, who = who, class = class, units = units}
  tickets[#tickets + 1] = mine
end
local isAlone = #tickets == 1
local function position(field) return isAlone and 0 or number(shares, field) end

local lines, ends = {interactive = {}, background = {}}, {}
table.sort(tickets, function(one, other) return one.seq < other.seq end)
for _, ticket in ipairs(tickets) do
  local flow = ticket.class .. ':' .. ticket.who
  ticket.start = ends[flow] or math.max(position('start:' .. ticket.class), position(flow))
  ends[flow] = ticket.start + ticket.units
  table.insert(lines[ticket.class], ticket)
end
for _, line in pairs(lines) do
  table.sort(line, function(one, other)
    if one.start ~= other.start then return one.start < other.start end
    return one.seq < other.seq
  end)
end

local passed, ahead, person, job = position('passed'), 0, 1, 1
local turn
repeat
  local hurried, unhurried = lines.interactive[person], lines.background[job]
  if unhurried and (not hurried or passed >= 3 * unhurried.units) then
    turn, job, passed = unhurried, job + 1, 0
  else
    turn, person, passed = hurried, person + 1, unhurried and passed + hurried.units or 0
  end
  ahead = ahead + turn.units
until turn == mine

local stored = tonumber(read[1] or 0) or 0
if stored > now + interval * burst then
  stored = now + interval * burst
  redis.call('HSET', budget, 'takenUntil', stored)
end
local takenUntil = math.max(stored - unusedMs, now)
-- Subtracts first: a request for the whole burst must not wait forever because of a rounding error.
local wait = math.max(takenUntil - now + interval * (ahead - burst + reserved), clientWait)
redis.call('PEXPIRE', budget, 3600000)
if wait > 0 then
  if isNew then mine.seq = increase(budget, 'seq', 1) end
  local expiresAt = now + ticketLifeMs + wait / 2
  local ticket = cjson.encode({seq = mine.seq, who = who, class = class, units = units, expiresAt = expiresAt})
  redis.call('HSET', waiting, id, ticket)
  redis.call('PEXPIRE', waiting, 3600000)
  return {math.ceil(wait), isClientPaused and 1 or 0, 0, 0, 0}
end
local next = 0
if isAlone and not isOwnTrial and not isClientTrial then
  local room = math.floor((now - takenUntil) / interval + burst / 2) - units
  next = math.max(0, math.min(wantedNext, room))
end
if not isNew then redis.call('HDEL', waiting, id) end
redis.call('HSET', budget, 'takenUntil', takenUntil + interval * (units + next))
if isAlone then
  redis.call('DEL', shares)
else
  local start = math.max(mine.start, number(shares, 'start:' .. class))
  redis.call('HSET', shares, 'start:' .. class, start, class .. ':' .. who, mine.start + units)
  redis.call('PEXPIRE', shares, 3600000)
  if class == 'background' then
    redis.call('HSET', shares, 'passed', 0)
  elseif #lines.background > 0 then
    increase(shares, 'passed', units)
  end
end
local hour, day = math.floor(now / 3600000), math.floor(now / 86400000)
-- Below 0 if more earlier units were unused than are granted now: the sum over all questions is exact.
local used = units + next - unused
increase(granted, 'day:' .. day .. ':' .. who, used)
if increase(granted, 'hour:' .. hour, used) == used then
  for _, field in ipairs(redis.call('HKEYS', granted)) do
    local kind, number = string.match(field, '^(%a+):(%d+)')
    if (tonumber(number) or 0) < (kind == 'hour' and hour or day) - 1 then redis.call('HDEL', granted, field) end
  end
  redis.call('PEXPIRE', granted, 172800000)
end
if isOwnTrial then redis.call('HSET', budget, 'trial:' .. who, now + trialMs) end
if isClientTrial then redis.call('HSET', budget, 'trial', now + trialMs) end
return {0, 0, (isOwnTrial or isClientTrial) and 1 or 0, next, math.floor(takenUntil - now)}
