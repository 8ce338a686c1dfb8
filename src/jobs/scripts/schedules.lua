-- Answers id, next time and period of each schedule of a queue: in one go what BullMQ asks one by one.
-- KEYS: 1 BullMQ's set of a queue's schedules (sorted set: id → next time). Each one's own key stands below it.
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
