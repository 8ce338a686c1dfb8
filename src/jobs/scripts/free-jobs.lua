-- Takes the locks of dead workers off jobs, and has BullMQ's next look at stalled jobs take these up. Answers how many there were.
-- See node_modules/bullmq/dist/esm/commands/moveStalledJobsToWait-9.lua.
-- KEYS: 1 jobs under way (list), 2 jobs that may be stalled (set), 3 when that was looked at last.
-- ARGV: 1 what the keys of jobs begin with, 2… ids of workers.
local active, stalled, stalledCheck = KEYS[1], KEYS[2], KEYS[3]
local prefix = ARGV[1]
local freed = 0
for _, job in ipairs(redis.call('LRANGE', active, 0, -1)) do
  local lock = prefix .. job .. ':lock'
  local token = redis.call('GET', lock)
  for at = 2, #ARGV do
    local worker = ARGV[at] .. ':'
    if token and string.sub(token, 1, #worker) == worker then
      redis.call('DEL', lock)
      redis.call('SADD', stalled, job)
      freed = freed + 1
    end
  end
end
if freed > 0 then redis.call('DEL', stalledCheck) end
return freed
