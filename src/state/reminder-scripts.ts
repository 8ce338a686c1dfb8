/*
 * The ledger's steps, each one atomic. An entry is a hash; its claim is a key of its own that ends by itself, so that the work of a
 * worker that died is taken up by another one.
 */

// KEYS: entry, open, settled, counts. The caller has set `state` and `reason`.
const SETTLED = `
local function settle(id, now, keep, state, reason)
  redis.call('HSET', KEYS[1], 'state', state, 'reason', reason, 'settledAt', now)
  redis.call('ZREM', KEYS[2], id)
  redis.call('ZADD', KEYS[3], now, id)
  redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now - keep)
  redis.call('HINCRBY', KEYS[4], state .. ':' .. reason, 1)
end
`;

/**
 * KEYS: entry, open, settled, counts, of the appointment. ARGV: id, now, keep ms, reason or '' to plan, dueAt, life ms, appointment,
 * startAt, rule, channel, zone, correction. Plans an entry that is not there, was withdrawn or is planned already; what was, or may have been,
 * handed over stays. Answers 1 when something changed.
 */
export const PLAN = `${SETTLED}
local state = redis.call('HGET', KEYS[1], 'state')
local reason = redis.call('HGET', KEYS[1], 'reason')
local withdrawn = reason == 'cancelled' or reason == 'moved' or reason == 'vanished' or reason == 'excluded' or reason == 'outdated'
if state and state ~= 'planned' and not (state == 'dropped' and withdrawn) then return 0 end
if state and ARGV[4] ~= '' then return 0 end
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'dueAt', ARGV[5], 'appointmentId', ARGV[7], 'startAt', ARGV[8], 'rule', ARGV[9],
  'channel', ARGV[10], 'zone', ARGV[11], 'correction', ARGV[12], 'state', 'planned', 'wakeAt', ARGV[5], 'reason', '', 'settledAt', '')
redis.call(state == 'planned' and 'HSETNX' or 'HSET', KEYS[1], 'plannedAt', ARGV[2])
redis.call('HSETNX', KEYS[1], 'attempts', 0)
redis.call('PEXPIRE', KEYS[1], ARGV[6])
redis.call('SADD', KEYS[5], ARGV[1])
if redis.call('PTTL', KEYS[5]) < tonumber(ARGV[6]) then redis.call('PEXPIRE', KEYS[5], ARGV[6]) end
redis.call('ZREM', KEYS[3], ARGV[1])
if ARGV[4] == '' then
  redis.call('ZADD', KEYS[2], ARGV[5], ARGV[1])
  if state ~= 'planned' then redis.call('HINCRBY', KEYS[4], 'planned:', 1) end
else
  settle(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), 'dropped', ARGV[4])
end
return 1`;

/** KEYS: entry, open, settled, counts. ARGV: id, now, keep ms, reason. Only what nobody has begun to hand over. */
export const WITHDRAW = `${SETTLED}
if redis.call('HGET', KEYS[1], 'state') ~= 'planned' then return 0 end
settle(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), 'dropped', ARGV[4])
return 1`;

/** KEYS: entry, open, claim. ARGV: id, token, claim ms. Answers the entry's fields, or how long somebody else's claim lasts, or nil. */
export const CLAIM = `
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'planned' and state ~= 'sending' then
  redis.call('ZREM', KEYS[2], ARGV[1])
  return false
end
local left = redis.call('PTTL', KEYS[3])
if left > 0 then return left end
redis.call('SET', KEYS[3], ARGV[2], 'PX', ARGV[3])
return redis.call('HGETALL', KEYS[1])`;

/**
 * KEYS: entry, claim, hour, opt-outs, told, order. ARGV: token, limit, 1 when it may be handed over a second time, hash of the address or '',
 * appointment, startAt, hash of the patient, hash of the place or ''. What is written before the other side is called: also what it tells, and
 * whom. The hour counts a reminder once, however often it is tried.
 */
export const INTEND = `
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 'lost' end
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'planned' and not (state == 'sending' and ARGV[3] == '1') then return 'lost' end
if ARGV[4] ~= '' and redis.call('HEXISTS', KEYS[4], ARGV[4]) == 1 then return 'opted-out' end
if redis.call('HEXISTS', KEYS[1], 'counted') == 0 then
  if tonumber(redis.call('GET', KEYS[3]) or 0) >= tonumber(ARGV[2]) then return 'limit' end
  redis.call('INCR', KEYS[3])
  redis.call('PEXPIRE', KEYS[3], 7200000)
  redis.call('HSET', KEYS[1], 'counted', 1)
end
redis.call('HSET', KEYS[1], 'state', 'sending', 'sender', ARGV[1], 'recipient', ARGV[4], 'handedAs', redis.call('INCR', KEYS[6]),
  'patient', ARGV[7], 'place', ARGV[8])
redis.call('ZADD', KEYS[5], 'GT', ARGV[6], ARGV[5])
redis.call('HINCRBY', KEYS[1], 'attempts', 1)
return 'go'`;

/**
 * KEYS: entry, open, settled, counts, claim. ARGV: id, now, keep ms, token, state, reason, code, reference. Taken from whoever holds
 * the claim, and from the one that handed it over, however late it comes: then it replaces what was unknown.
 */
export const SETTLE = `${SETTLED}
local state = redis.call('HGET', KEYS[1], 'state')
local claimed = redis.call('GET', KEYS[5]) == ARGV[4]
local sender = redis.call('HGET', KEYS[1], 'sender') == ARGV[4]
local late = state == 'unknown' and sender and ARGV[5] ~= 'unknown'
if not late and not ((state == 'planned' and claimed) or (state == 'sending' and (claimed or sender))) then return 0 end
if late then redis.call('HINCRBY', KEYS[4], 'unknown:' .. redis.call('HGET', KEYS[1], 'reason'), -1) end
settle(ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[5], ARGV[6])
redis.call('HSET', KEYS[1], 'reference', ARGV[8])
if ARGV[7] ~= '' then redis.call('HSET', KEYS[1], 'lastCode', ARGV[7]) end
if claimed then redis.call('DEL', KEYS[5]) end
return 1`;

/** KEYS: entry, open, claim. ARGV: id, token, wakeAt, code, 1 when it was surely not handed over. */
export const POSTPONE = `
if redis.call('GET', KEYS[3]) ~= ARGV[2] then return 0 end
redis.call('DEL', KEYS[3])
local state = redis.call('HGET', KEYS[1], 'state')
if state ~= 'planned' and state ~= 'sending' then return 0 end
if ARGV[5] == '1' then redis.call('HSET', KEYS[1], 'state', 'planned') end
redis.call('HSET', KEYS[1], 'wakeAt', ARGV[3])
if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'lastCode', ARGV[4]) end
redis.call('ZADD', KEYS[2], ARGV[3], ARGV[1])
return 1`;
