-- Returns the existing keys.
-- KEYS: keys of one tenant.
local found = {}
for _, key in ipairs(KEYS) do
  if redis.call('EXISTS', key) == 1 then found[#found + 1] = key end
end
return found
