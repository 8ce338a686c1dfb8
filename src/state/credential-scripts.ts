import { FENCE } from './lease-scripts.ts';

/** KEYS: lease, credential; ARGV: lease's token, expected version ('' for none), fields. */
export const WRITE = `${FENCE}
if (redis.call('HGET', KEYS[2], 'version') or '') ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], unpack(ARGV, 3))
return 1`;

/** KEYS: credential. ARGV: fields. Only where nothing stands. */
export const RESTORE = `
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV))
return 1`;

/** KEYS: credential. ARGV: the sealed text as it was read, the same sealed again. */
export const RESEAL = `
if redis.call('HGET', KEYS[1], 'sealed') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'sealed', ARGV[2])
return 1`;
