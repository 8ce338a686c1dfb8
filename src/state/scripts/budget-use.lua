-- Returns Redis's time in ms, and all fields of the grants with their values.
-- KEYS: 1 grants (hash).
local t = redis.call('TIME')
return {t[1] * 1000 + math.floor(t[2] / 1000), redis.call('HGETALL', KEYS[1])}
