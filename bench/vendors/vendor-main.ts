import { isVendor, VENDORS } from './vendors.ts';

/** Batches of Google's, Microsoft's and HubSpot's. */
const BATCHES = '/batch/|/\\$batch$';

/** Runs one vendor's sandbox with a latency per batch in ms; reports its target, and its charges on request, to the parent. */
const [name = '', latencyMs = ''] = process.argv.slice(2);
if (!isVendor(name)) throw new Error('which vendor?');
const { target, faults, units } = await VENDORS[name]();
if (Number(latencyMs) > 0) faults.add({ match: { path: BATCHES }, fault: { kind: 'latency', ms: Number(latencyMs) } });
process.on('message', () => process.send?.(units()));
process.once('disconnect', () => process.exit());
process.send?.(target);
