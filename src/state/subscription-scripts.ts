import { FENCE } from './lease-scripts.ts';

/** KEYS: lease, subscriptions. ARGV: token, target, subscription ('' for none). */
export const WRITE = `${FENCE}
if ARGV[3] == '' then return redis.call('HDEL', KEYS[2], ARGV[2]) end
return redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])`;
