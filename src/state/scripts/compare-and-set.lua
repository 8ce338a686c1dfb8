-- Changes values in one step, as long as others are still as they were read.
-- KEYS: any. ARGV: 1 number of values that must be as they were read, then each of them, then each that is written, as three arguments:
-- number of the key, field of the hash ('' for a key that is a string), value ('' for none: the field or key is removed).
-- Answers 0 when all is written, else the number of the first value that is another one by now.
local expected = tonumber(ARGV[1])
local function read(key, field)
  -- A key of another type was not written by clinic-mirror: it holds no value.
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
