-- Ends the claim of a patient's request, and stores the answer unless an answer exists. Returns 1 if the reminder exists.
-- KEYS: 1 reminder, 2 claim. ARGV: 1 token of the claim, 2 answer or '', 3 time of the answer.
local entry, claim = KEYS[1], KEYS[2]
local token, answer, answeredAt = ARGV[1], ARGV[2], ARGV[3]
if redis.call('GET', claim) ~= token then return 0 end
redis.call('DEL', claim)
if answer == '' or redis.call('EXISTS', entry) == 0 then return 0 end
if redis.call('HSETNX', entry, 'answer', answer) == 1 then redis.call('HSET', entry, 'answeredAt', answeredAt) end
return 1
