-- History of a target, in one small hash. Field `h<UTC day>`: for each hour, the largest age in minutes as two digits of base 64 (`0` to `o`),
-- or `..` if no cycle proved an age. Field `c<local day>`: created, updated and deleted objects. A damaged value starts again.
local HISTORY_DAYS = 32
local NO_AGES = string.rep('.', 48)
local MOST_MINUTES = 4095

local function historyField(history, field)
  local stored = redis.pcall('HGET', history, field)
  if type(stored) ~= 'table' then return stored end
  redis.call('DEL', history)
  return false
end

-- Writes a field. The first write of a day removes days past the end, and extends the life of the key.
local function storeHistory(history, kind, day, value, isNew)
  redis.call('HSET', history, kind .. day, value)
  if not isNew then return end
  local ended = {}
  for past = day - 2 * HISTORY_DAYS, day - HISTORY_DAYS do ended[#ended + 1] = kind .. string.format('%.0f', past) end
  redis.call('HDEL', history, unpack(ended))
  redis.call('PEXPIRE', history, HISTORY_DAYS * 86400000)
end

local function storeAge(history, hour, minutes, isOnlyKnown)
  local day, at = math.floor(hour / 24), hour % 24 * 2 + 1
  local stored = historyField(history, 'h' .. string.format('%.0f', day))
  local line = stored and #stored == 48 and stored or NO_AGES
  local high, low = string.byte(line, at, at + 1)
  if high == 46 and isOnlyKnown then return end
  if high ~= 46 and (high - 48) * 64 + low - 48 >= minutes then return end
  local digits = string.char(48 + math.floor(minutes / 64), 48 + minutes % 64)
  storeHistory(history, 'h', day, string.sub(line, 1, at - 1) .. digits .. string.sub(line, at + 2), not stored)
end

-- Records the age of a target just before newer data replaced it. `asOf` is the earlier proof; without one, nothing is known.
local function recordAge(history, at, asOf)
  local now, since = tonumber(at), asOf and tonumber(asOf)
  if not now or not since then return end
  since = math.min(since, now)
  local hour, last = math.floor(now / 3600000), math.floor(since / 3600000)
  local function minutesUntil(time) return math.min(math.ceil((time - since) / 60000), MOST_MINUTES) end
  storeAge(history, hour, minutesUntil(now))
  -- The age also grew until the end of the hour of the earlier proof. Hours between them without any cycle stay unknown.
  if last < hour then storeAge(history, last, minutesUntil((last + 1) * 3600000), true) end
end

local function recordChanges(history, day, created, updated, deleted)
  local stored = historyField(history, 'c' .. day)
  local before = {string.match(stored or '', '^(%d+) (%d+) (%d+)$')}
  local sums = {}
  for index, by in ipairs({created, updated, deleted}) do
    sums[index] = string.format('%.0f', (tonumber(before[index]) or 0) + tonumber(by))
  end
  storeHistory(history, 'c', day, table.concat(sums, ' '), not stored)
end
