-- Records the intent to deliver one message, before the request to the gateway, for each reminder of the message, with recipient and content.
-- All attempts of a message together count once for the hourly limit, and a correction once for its recipient.
-- KEYS: 1 count of the hour, 2 opt-outs, 3 informed appointments, 4 order, 5 corrections of the recipient, then for each reminder its key and
-- its claim.
-- ARGV: 1 hourly limit, 2 '1' if a second delivery is allowed, 3 hash of the recipient or '', 4 now, 5 limit of corrections of a recipient in
-- an hour, or '' if the limit does not apply, then for each reminder the token of its claim, appointment, startAt, hash of the patient, hash
-- of the location or '', and encrypted id of the patient or ''. Returns `go`, `lost`, `opted-out`, `recipient-limit` or `limit`.
-- @include ../../../state/scripts/stored
local hour, optOuts, informed, order, corrected = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local limit, mayRepeat, recipient, now, most = tonumber(ARGV[1]), ARGV[2] == '1', ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local members = (#KEYS - 5) / 2
for index = 1, members do
  local entry, claim = KEYS[4 + 2 * index], KEYS[5 + 2 * index]
  if redis.call('GET', claim) ~= ARGV[6 * index] then return 'lost' end
  local state = redis.call('HGET', entry, 'state')
  if state ~= 'planned' and not (state == 'sending' and mayRepeat) then return 'lost' end
end
if recipient ~= '' and redis.call('HEXISTS', optOuts, recipient) == 1 then return 'opted-out' end
if redis.call('HEXISTS', KEYS[6], 'counted') == 0 then
  redis.call('ZREMRANGEBYSCORE', corrected, '-inf', now - 3600000)
  if most and redis.call('ZCARD', corrected) >= most then return 'recipient-limit' end
  if wholeOf(redis.call('GET', hour)) >= limit then return 'limit' end
  count(hour)
  redis.call('PEXPIRE', hour, 7200000)
  if (redis.call('HGET', KEYS[6], 'correction') or '') ~= '' and recipient ~= '' then
    redis.call('ZADD', corrected, now, redis.call('HGET', KEYS[6], 'id'))
    redis.call('PEXPIRE', corrected, 3600000)
  end
end
for index = 1, members do
  local entry, at = KEYS[4 + 2 * index], 6 * index
  redis.call('HSET', entry, 'counted', 1, 'state', 'sending', 'sender', ARGV[at], 'recipient', recipient,
    'handedAs', count(order), 'patient', ARGV[at + 3], 'place', ARGV[at + 4], 'sealedPatient', ARGV[at + 5])
  redis.call('ZADD', informed, 'GT', ARGV[at + 2], ARGV[at + 1])
  increase(entry, 'attempts', 1)
end
return 'go'
