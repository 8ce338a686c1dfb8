-- Returns the remaining pause of the participant and of all participants in ms, and how long the participant has been refused.
-- KEYS: 1 budget. ARGV: 1 participant, 2 longest pause ms.
-- @include budget-common
local budget, longestPauseMs = KEYS[1], tonumber(ARGV[2])
local function remainingMs(suffix)
  local ms = number(budget, 'paused' .. suffix) - now
  if ms > longestPauseMs then return 0 end
  return math.ceil(math.max(0, ms))
end
local since = number(budget, 'refusedSince:' .. who)
return {remainingMs(':' .. who), remainingMs(''), since == 0 and 0 or math.ceil(math.max(0, now - since))}
