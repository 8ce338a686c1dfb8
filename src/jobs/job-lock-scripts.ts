/**
 * Takes the locks of dead workers off jobs, and has BullMQ's next look at stalled jobs take these up. KEYS: jobs under way (list), jobs that
 * may be stalled (set), when that was looked at last. ARGV: what the keys of jobs begin with, then ids of workers. Answers how many there were.
 * @see node_modules/bullmq/dist/esm/commands/moveStalledJobsToWait-9.lua
 */
export const FREE_JOBS = `
local freed = 0
for _, job in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  local lock = ARGV[1] .. job .. ':lock'
  local token = redis.call('GET', lock)
  for i = 2, #ARGV do
    if token and string.sub(token, 1, #ARGV[i] + 1) == ARGV[i] .. ':' then
      redis.call('DEL', lock)
      redis.call('SADD', KEYS[2], job)
      freed = freed + 1
    end
  end
end
if freed > 0 then redis.call('DEL', KEYS[3]) end
return freed`;
