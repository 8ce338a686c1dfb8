-- Raises the revision of a target to a revision found there.
local function raise(target, found)
  if tonumber(redis.call('HGET', target, 'revision') or '0') < tonumber(found) then
    redis.call('HSET', target, 'revision', found)
  end
end
