import { createLeases } from '../../src/state/leases.ts';
import { openProcesses } from '../../src/state/processes.ts';
import { connectRedis } from '../../src/state/redis.ts';

/** A process of its own that holds a lease for ten minutes, and says so; also when it has lost it. */
const redis = connectRedis(process.argv[2] ?? '');
const leases = createLeases(redis, 'studio', 600_000, openProcesses(redis, 6_000));
const lease = await leases.tryTake('lane');
// Before it says that it holds the lease: whoever reads that may stop it at once.
lease?.signal.addEventListener('abort', () => process.stdout.write('lost'));
process.stdout.write(lease === null ? 'busy' : 'held');
setInterval(() => {}, 60_000);
