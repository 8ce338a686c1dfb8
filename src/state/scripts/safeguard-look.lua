-- Returns the record and the tables at one moment: their content, or their sizes.
-- KEYS: 1 protection, 2… tables. ARGV: 1 '1' for the content.
local read = ARGV[1] == '1' and 'HGETALL' or 'HLEN'
local answers = {redis.call('HGET', KEYS[1], 'proof')}
for index = 2, #KEYS do answers[index] = redis.call(read, KEYS[index]) end
return answers
