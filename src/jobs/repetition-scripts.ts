/** KEYS: BullMQ's set of a queue's schedules. Each one's own key stands below it. It is asked in one go what BullMQ asks one by one. */
export const SCHEDULES = `
local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local told = {}
for i = 1, #all, 2 do
  told[#told + 1] = all[i]
  told[#told + 1] = all[i + 1]
  told[#told + 1] = redis.call('HGET', KEYS[1] .. ':' .. all[i], 'every') or '0'
end
return told`;
