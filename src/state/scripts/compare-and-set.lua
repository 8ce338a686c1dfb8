-- Changes values in one step if the expected values are unchanged.
-- KEYS: any. ARGV: 1 number of expected values, then the expected values, then the written values, each as three arguments: number of the
-- key, field of the hash ('' for a string key), value ('' for none: the field or key is removed).
-- Returns 0 on success, otherwise the number of the first changed value.
local expected = tonumber(ARGV[1])
local function read(key, field)
  -- A key with a wrong type was not written by clinic-mirror and has no value.
  local value
  if field == '' then value = redis.pcall('GET', key) else value = redis.call('HGET', key, field) end
  return type(value) == 'string' and value or ''
end
local function write(key, field, value)
  if field == '' then
    if value == '' then redis.call('DEL', key) else redis.call('SET', key, value) end
  elseif value == '' then redis.call('HDEL', key, field)
  else redis.call('HSET', key, field, value) end
end
for index = 1, expected do
  local at = 3 * index - 1
  if read(KEYS[tonumber(ARGV[at])], ARGV[at + 1]) ~= ARGV[at + 2] then return index end
end
for at = 3 * expected + 2, #ARGV, 3 do write(KEYS[tonumber(ARGV[at])], ARGV[at + 1], ARGV[at + 2]) end
return 0
