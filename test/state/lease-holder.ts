import { createLeases } from '../../src/state/leases.ts';
import { openProcesses } from '../../src/state/processes.ts';
import { connectRedis } from '../../src/state/redis.ts';

/** A separate process that holds a lease for ten minutes, and reports this; it also reports the loss of the lease. */
const redis = connectRedis(process.argv[2] ?? '');
const leases = createLeases(redis, 'studio', 600_000, openProcesses(redis, 6_000));
const lease = await leases.tryTake('lane');
// Registered before the report: a reader of the report may stop the process at once.
lease?.signal.addEventListener('abort', () => process.stdout.write('lost'));
process.stdout.write(lease === null ? 'busy' : 'held');
setInterval(() => {}, 60_000);
