-- Returns id, next time and period of each schedule of a queue in one step. BullMQ itself queries each schedule separately.
-- KEYS: 1 schedules of a queue in BullMQ (sorted set: id → next time). The key of a schedule is this key, ':' and the id.
local repeated = KEYS[1]
local all = redis.call('ZRANGE', repeated, 0, -1, 'WITHSCORES')
local schedules = {}
for index = 1, #all, 2 do
  local id, nextAt = all[index], all[index + 1]
  schedules[#schedules + 1] = id
  schedules[#schedules + 1] = nextAt
  schedules[#schedules + 1] = redis.call('HGET', repeated .. ':' .. id, 'every') or '0'
end
return schedules
