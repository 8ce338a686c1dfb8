-- Raises the revision of a target to one that was found there.
local function raise(target, found)
  if tonumber(redis.call('HGET', target, 'revision') or '0') < tonumber(found) then
    redis.call('HSET', target, 'revision', found)
  end
end
