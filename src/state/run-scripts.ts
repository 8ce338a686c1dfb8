/** KEYS: runs. ARGV: a report as read, the same without the records. It may have moved on in the list, or out of it. */
export const REPLACE = `
local at = redis.call('LPOS', KEYS[1], ARGV[1])
if not at then return 0 end
redis.call('LSET', KEYS[1], at, ARGV[2])
return 1`;
