-- Removes the locks of dead workers, and marks their jobs as stalled, so that BullMQ's next check for stalled jobs restarts the jobs.
-- Returns the number of jobs. See node_modules/bullmq/dist/esm/commands/moveStalledJobsToWait-9.lua.
-- KEYS: 1 active jobs (list), 2 possibly stalled jobs (set), 3 time of the last check.
-- ARGV: 1 prefix of job keys, 2… ids of workers.
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
