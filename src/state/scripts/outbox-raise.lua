-- Raises the revision of a target to a revision found there.
-- @include stored
local function raise(target, found)
  if wholeOf(redis.call('HGET', target, 'revision')) < tonumber(found) then
    redis.call('HSET', target, 'revision', found)
  end
end
