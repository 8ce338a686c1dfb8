-- Gives a link table its next version, a number and what its writer calls the change: a Redis that went back in time may come to the same
-- number again. Answers the version before and the new one, by which whoever knows the links of the one knows those of the other.
local function touch(links, writer)
  local before = redis.call('HGET', links, 'version')
  local after = ((string.match(before or '', '^%d+') or '0') + 1) .. ' ' .. writer
  redis.call('HSET', links, 'version', after)
  return {before, after}
end
