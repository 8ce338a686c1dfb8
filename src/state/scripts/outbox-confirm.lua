-- Records the results of sent changes, with links and journal lines, in one step.
-- KEYS: 1 lease, 2 outbox, 3 due, 4 failing, 5 journals, 6 target, 7 unseen, 8 removed, 9 link table, 10… buckets and journals of runs.
-- ARGV: 1 token, 2 now, 3 life of a journal ms, 4 target's id, 5 '1' to record removals, 6 number of this call, 7 name of the
-- change, then eight arguments for each outbox change: kind, record id, revision and five more:
--   done: number of the bucket's key, link or '', number of the journal's key or '', its line, run
--   superseded: number of the bucket's key, link or '', -, found revision, -
--   retry: code, due, '1' if parked, subjects of the error, '1' if the vendor requested the wait
--   next-epoch: -, -, -, epoch, -
-- Returns the versions of the link table before and after; 0 for a repeated call.
-- @include fence
-- @include outbox-raise
-- @include links-touch
local outbox, due, failing, journals, target = KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local unseen, takenOut, links = KEYS[7], KEYS[8], KEYS[9]
local token, now, journalMs, targetId = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local isRemovalRecorded, call, change = ARGV[5] == '1', tonumber(ARGV[6]), ARGV[7]

-- A silent connection is replaced and its commands are sent again: the first copy may arrive after later commands.
-- The call numbers of a lease therefore only grow, and an overtaken call has no effect.
local holder, number = string.match(redis.call('HGET', target, 'settled') or '', '^(.*) (%d+)$')
if holder == token and tonumber(number) >= call then return 0 end
redis.call('HSET', target, 'settled', token .. ' ' .. call)
local versions = touch(links, change)
local follows = redis.call('HEXISTS', target, 'cursor') == 1

local function writeLink(bucket, recordId, link)
  if link == '' then redis.call('HDEL', bucket, recordId) else redis.call('HSET', bucket, recordId, link) end
end

-- Records writes while a change feed is followed: a feed may omit objects that were created and deleted between two fetches.
-- Records nothing about a record whose erasure is pending.
local function recordDone(recordId, at)
  local link, journal, line, run = ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
  local entry = objectOf(redis.call('HGET', outbox, recordId))
  local isForgotten = entry and entry.why == 'forgotten'
  if isForgotten or link ~= '' then redis.call('SREM', takenOut, recordId)
  elseif isRemovalRecorded then redis.call('SADD', takenOut, recordId) end
  if isForgotten then redis.call('ZREM', unseen, recordId)
  elseif follows then redis.call('ZADD', unseen, now, recordId) end
  if journal ~= '' and not isForgotten then
    journal = KEYS[tonumber(journal)]
    redis.call('HSET', journal, targetId .. '\t' .. recordId, line)
    redis.call('PEXPIRE', journal, journalMs)
    redis.call('ZADD', journals, 'NX', now, run)
    redis.call('PEXPIRE', journals, journalMs)
  end
end

for at = 8, #ARGV, 8 do
  local kind, recordId, revision = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  local isWritten = kind == 'done' or kind == 'superseded'
  if isWritten then writeLink(KEYS[tonumber(ARGV[at + 3])], recordId, ARGV[at + 4]) end
  if kind == 'done' then
    recordDone(recordId, at)
    redis.call('HSET', target, 'lastWrittenAt', now)
  end
  if kind == 'superseded' then
    -- A superseded change is not in the target: neither the plan nor a running plan proves freshness.
    raise(target, ARGV[at + 6])
    redis.call('HDEL', target, 'plannedAsOf')
    increase(target, 'overtaken', 1)
  end
  local entry = objectOf(redis.call('HGET', outbox, recordId))
  if entry then
    local isSame = entry.r == revision
    if isWritten then
      if isSame then
        redis.call('HDEL', outbox, recordId)
        redis.call('ZREM', due, recordId)
      else
        entry.i = false
        redis.call('HSET', outbox, recordId, cjson.encode(entry))
      end
      redis.call('ZREM', failing, recordId)
    elseif kind == 'retry' and isSame then
      local code, dueAt, parked, about, isAsked = ARGV[at + 3], ARGV[at + 4], ARGV[at + 5], ARGV[at + 6], ARGV[at + 7]
      entry.n = (tonumber(entry.n) or 0) + 1
      entry.e = code
      entry.d = tonumber(dueAt)
      entry.p = parked == '1'
      entry.b = about ~= '' and about or nil
      entry.a = isAsked == '1' or nil
      redis.call('HSET', outbox, recordId, cjson.encode(entry))
      redis.call('ZADD', due, dueAt, recordId)
      redis.call('ZADD', failing, 'NX', now, recordId)
    elseif kind == 'next-epoch' then
      entry.k = tonumber(ARGV[at + 6])
      entry.n = 0
      redis.call('HSET', outbox, recordId, cjson.encode(entry))
      redis.call('ZADD', due, now, recordId)
    end
  end
end
return versions
