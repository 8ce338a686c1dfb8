-- Ends the claim of a patient's request, and stores the answer: the first one counts. Answers 1 when there is an entry for it.
-- KEYS: 1 entry of the reminder, 2 claim. ARGV: 1 token of the claim, 2 answer or '', 3 when it was given.
local entry, claim = KEYS[1], KEYS[2]
local token, answer, answeredAt = ARGV[1], ARGV[2], ARGV[3]
if redis.call('GET', claim) ~= token then return 0 end
redis.call('DEL', claim)
if answer == '' or redis.call('EXISTS', entry) == 0 then return 0 end
if redis.call('HSETNX', entry, 'answer', answer) == 1 then redis.call('HSET', entry, 'answeredAt', answeredAt) end
return 1
