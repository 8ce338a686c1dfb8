-- Damaged values: a number or JSON object that clinic-mirror did not write counts as absent, and the next write replaces the value.
-- `state/damaged.ts` reports a damaged value when it is read there.
local function isWhole(value)
  return value and #value < 17 and string.match(value, '^%-?%d+$') ~= nil
end
local function wholeOf(value)
  return isWhole(value) and tonumber(value) or 0
end
local function increase(key, field, by)
  local sum = redis.pcall('HINCRBY', key, field, by)
  if type(sum) == 'number' then return sum end
  if not isWhole(redis.call('HGET', key, field)) then redis.call('HDEL', key, field) end
  return redis.call('HINCRBY', key, field, by)
end
local function count(key)
  local sum = redis.pcall('INCR', key)
  if type(sum) == 'number' then return sum end
  if not isWhole(redis.call('GET', key)) then redis.call('DEL', key) end
  return redis.call('INCR', key)
end
local function objectOf(stored)
  if not stored then return nil end
  local isJson, entry = pcall(cjson.decode, stored)
  return isJson and type(entry) == 'table' and entry or nil
end
