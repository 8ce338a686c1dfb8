-- Records the intent to deliver, before the request to the gateway, with recipient and content. All attempts of a reminder together count
-- once for the hourly limit.
-- KEYS: 1 reminder, 2 claim, 3 count of the hour, 4 opt-outs, 5 informed appointments, 6 order.
-- ARGV: 1 token, 2 hourly limit, 3 '1' if a second delivery is allowed, 4 hash of the recipient or '', 5 appointment, 6 startAt, 7 hash of
-- the patient, 8 hash of the location or ''. Returns `go`, `lost`, `opted-out` or `limit`.
local entry, claim, hour, optOuts, informed, order = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local token, limit, mayRepeat, recipient = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1', ARGV[4]
local appointment, startAt, patient, location = ARGV[5], ARGV[6], ARGV[7], ARGV[8]
if redis.call('GET', claim) ~= token then return 'lost' end
local state = redis.call('HGET', entry, 'state')
if state ~= 'planned' and not (state == 'sending' and mayRepeat) then return 'lost' end
if recipient ~= '' and redis.call('HEXISTS', optOuts, recipient) == 1 then return 'opted-out' end
if redis.call('HEXISTS', entry, 'counted') == 0 then
  if tonumber(redis.call('GET', hour) or 0) >= limit then return 'limit' end
  redis.call('INCR', hour)
  redis.call('PEXPIRE', hour, 7200000)
  redis.call('HSET', entry, 'counted', 1)
end
redis.call('HSET', entry, 'state', 'sending', 'sender', token, 'recipient', recipient, 'handedAs', redis.call('INCR', order),
  'patient', patient, 'place', location)
redis.call('ZADD', informed, 'GT', startAt, appointment)
redis.call('HINCRBY', entry, 'attempts', 1)
return 'go'
