import { createLeases } from '../../src/state/leases.ts';
import { openProcesses } from '../../src/state/processes.ts';
import { connectRedis } from '../../src/state/redis.ts';

/** A process of its own that holds a lease for ten minutes, and says so. */
const redis = connectRedis(process.argv[2] ?? '');
const leases = createLeases(redis, 'studio', 600_000, openProcesses(redis));
const lease = await leases.tryTake('lane');
process.stdout.write(lease === null ? 'busy' : 'held');
setInterval(() => {}, 60_000);
