import { FENCE } from './lease-scripts.ts';
import { TOUCH } from './link-scripts.ts';

// KEYS: lease, target, outbox, due, failing. ARGV: token, now, then (recordId, entry JSON) pairs.
export const PUT = `${FENCE}
for i = 3, #ARGV, 2 do
  local entry = cjson.decode(ARGV[i + 1])
  local old = redis.call('HGET', KEYS[3], ARGV[i])
  entry.r = redis.call('HINCRBY', KEYS[2], 'revision', 1)
  if old then
    local before = cjson.decode(old)
    entry.i = before.i
    entry.z = before.z
    entry.k = before.k
  end
  redis.call('HSET', KEYS[3], ARGV[i], cjson.encode(entry))
  redis.call('ZADD', KEYS[4], ARGV[2], ARGV[i])
  redis.call('ZREM', KEYS[5], ARGV[i])
end
return 1`;

// KEYS: lease, outbox. ARGV: token, now, then record ids.
export const MARK_SENT = `${FENCE}
for i = 3, #ARGV do
  local old = redis.call('HGET', KEYS[2], ARGV[i])
  if old then
    local entry = cjson.decode(old)
    entry.i = true
    entry.z = tonumber(ARGV[2])
    redis.call('HSET', KEYS[2], ARGV[i], cjson.encode(entry))
  end
end
return 1`;

// KEYS: lease, outbox. ARGV: token, then record ids. A newer entry for the record took over that it was sent, and loses that too.
export const MARK_UNSENT = `${FENCE}
for i = 2, #ARGV do
  local old = redis.call('HGET', KEYS[2], ARGV[i])
  if old then
    local entry = cjson.decode(old)
    entry.i = false
    entry.z = nil
    redis.call('HSET', KEYS[2], ARGV[i], cjson.encode(entry))
  end
end
return 1`;

// KEYS: lease, due. ARGV: token, then (recordId, due) pairs.
export const POSTPONE = `${FENCE}
for i = 2, #ARGV, 2 do redis.call('ZADD', KEYS[2], 'XX', ARGV[i + 1], ARGV[i]) end
return 1`;

const RAISE = `
local function raise(target, found)
  if tonumber(redis.call('HGET', target, 'revision') or '0') < tonumber(found) then
    redis.call('HSET', target, 'revision', found)
  end
end`;

// KEYS: lease, target. ARGV: token, revision.
export const RAISE_REVISION = `${FENCE}${RAISE}
raise(KEYS[2], ARGV[2])
return 1`;

// KEYS: lease, outbox, due, failing, journals, target, unseen, taken out, link table, buckets and journals of runs… ARGV: token, now,
// journal's life, target, whether what is taken out is noted, number, name of the change, then (kind, recordId, revision, …5) tuples:
// done: bucket position, link or '', journal position or '', its line, run | retry: error, due, parked, about, asked to wait | next-epoch: -, -, -, epoch |
// superseded: bucket position, link, -, revision
// What is written while a change feed is followed is noted: a feed may keep silent about what came and went between two questions.
// Of a record that is to be forgotten nothing is noted, whichever of its changes was under way.
// A connection that fell silent is replaced, and what was sent over it is sent once more: the first copy may arrive after what came later.
// So the numbers of one lease only grow, and what was overtaken does nothing.
// What gave way to another write is not in the target: nothing is as fresh as what was planned, nor by a plan that is under way.
export const SETTLE = `${FENCE}${RAISE}${TOUCH}
local holder, number = string.match(redis.call('HGET', KEYS[6], 'settled') or '', '^(.*) (%d+)$')
if holder == ARGV[1] and tonumber(number) >= tonumber(ARGV[6]) then return 0 end
redis.call('HSET', KEYS[6], 'settled', ARGV[1] .. ' ' .. ARGV[6])
local versions = touch(KEYS[9], ARGV[7])
local follows = redis.call('HEXISTS', KEYS[6], 'cursor') == 1
for i = 8, #ARGV, 8 do
  local kind, id, revision = ARGV[i], ARGV[i + 1], tonumber(ARGV[i + 2])
  if kind == 'done' then
    local bucket = KEYS[tonumber(ARGV[i + 3])]
    if ARGV[i + 4] == '' then redis.call('HDEL', bucket, id) else redis.call('HSET', bucket, id, ARGV[i + 4]) end
    local waiting = redis.call('HGET', KEYS[2], id)
    local forgotten = waiting and cjson.decode(waiting).why == 'forgotten'
    if forgotten or ARGV[i + 4] ~= '' then redis.call('SREM', KEYS[8], id)
    elseif ARGV[5] == '1' then redis.call('SADD', KEYS[8], id) end
    if forgotten then redis.call('ZREM', KEYS[7], id)
    elseif follows then redis.call('ZADD', KEYS[7], ARGV[2], id) end
    if ARGV[i + 5] ~= '' and not forgotten then
      local journal = KEYS[tonumber(ARGV[i + 5])]
      redis.call('HSET', journal, ARGV[4] .. '\t' .. id, ARGV[i + 6])
      redis.call('PEXPIRE', journal, ARGV[3])
      redis.call('ZADD', KEYS[5], 'NX', ARGV[2], ARGV[i + 7])
      redis.call('PEXPIRE', KEYS[5], ARGV[3])
    end
  end
  if kind == 'superseded' then
    local bucket = KEYS[tonumber(ARGV[i + 3])]
    if ARGV[i + 4] == '' then redis.call('HDEL', bucket, id) else redis.call('HSET', bucket, id, ARGV[i + 4]) end
    raise(KEYS[6], ARGV[i + 6])
    redis.call('HDEL', KEYS[6], 'plannedAsOf')
    redis.call('HINCRBY', KEYS[6], 'overtaken', 1)
  end
  local old = redis.call('HGET', KEYS[2], id)
  if old then
    local entry = cjson.decode(old)
    local same = entry.r == revision
    if kind == 'done' or kind == 'superseded' then
      if same then
        redis.call('HDEL', KEYS[2], id)
        redis.call('ZREM', KEYS[3], id)
      else
        entry.i = false
        redis.call('HSET', KEYS[2], id, cjson.encode(entry))
      end
      redis.call('ZREM', KEYS[4], id)
    elseif kind == 'retry' and same then
      entry.n = entry.n + 1
      entry.e = ARGV[i + 3]
      entry.d = tonumber(ARGV[i + 4])
      entry.p = ARGV[i + 5] == '1'
      entry.b = ARGV[i + 6] ~= '' and ARGV[i + 6] or nil
      entry.a = ARGV[i + 7] == '1' or nil
      redis.call('HSET', KEYS[2], id, cjson.encode(entry))
      redis.call('ZADD', KEYS[3], ARGV[i + 4], id)
      redis.call('ZADD', KEYS[4], 'NX', ARGV[2], id)
    elseif kind == 'next-epoch' then
      entry.k = tonumber(ARGV[i + 6])
      entry.n = 0
      redis.call('HSET', KEYS[2], id, cjson.encode(entry))
      redis.call('ZADD', KEYS[3], ARGV[2], id)
    end
  end
end
return versions`;

// KEYS: outbox, due. ARGV: now, the latest time that is no time to come, entries at most. What was decided or sent in a time to come
// is due now, and was decided now.
export const TAKE_BACK = `
local now, latest = tonumber(ARGV[1]), tonumber(ARGV[2])
for _, id in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[1], '+inf', 'LIMIT', 0, ARGV[3])) do
  local value = redis.call('HGET', KEYS[1], id)
  if value then
    local entry = cjson.decode(value)
    local sentAt = tonumber(entry.z) or 0
    if entry.q > latest or sentAt > latest then
      entry.q = math.min(entry.q, now)
      if sentAt > latest then entry.z = now end
      entry.d = now
      redis.call('HSET', KEYS[1], id, cjson.encode(entry))
      redis.call('ZADD', KEYS[2], now, id)
    end
  end
end
return 1`;

// KEYS: lease, outbox, due, failing. ARGV: token, then record ids.
export const ABANDON = `${FENCE}
for i = 2, #ARGV do
  local entry = redis.call('HGET', KEYS[2], ARGV[i])
  if not entry or cjson.decode(entry).why ~= 'forgotten' then
    redis.call('HDEL', KEYS[2], ARGV[i])
    redis.call('ZREM', KEYS[3], ARGV[i])
    redis.call('ZREM', KEYS[4], ARGV[i])
  end
end
return 1`;
