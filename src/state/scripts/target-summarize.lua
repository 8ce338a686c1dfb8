-- Returns record, version of the links and number of waiting changes of each target.
-- KEYS: target, links and outbox, repeated.
local all = {}
for index = 1, #KEYS, 3 do
  local target, links, outbox = KEYS[index], KEYS[index + 1], KEYS[index + 2]
  all[#all + 1] = {redis.call('HGETALL', target), redis.call('HGET', links, 'version'), redis.call('HLEN', outbox)}
end
return all
