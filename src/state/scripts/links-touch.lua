-- Sets the next version of a link table: a number and the writer's name of the change, because a reverted Redis may repeat a number. Returns
-- the version before and after: a process that knows the links of the first version and the change knows the links of the second.
local function touch(links, writer)
  local before = redis.call('HGET', links, 'version')
  local after = ((string.match(before or '', '^%d+') or '0') + 1) .. ' ' .. writer
  redis.call('HSET', links, 'version', after)
  return {before, after}
end
