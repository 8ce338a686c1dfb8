import { openCycleWorld } from './world.ts';

/** One tenant's first sync and two quiet cycles: tells its parent the most memory that this process had. */
const [appointments = 0, targets = 0] = process.argv.slice(2).map(Number);
await using world = await openCycleWorld({ appointments, targets });
await world.pull();
await world.push();
for (let cycle = 0; cycle < 2; cycle += 1) await world.pull();
process.send?.(process.resourceUsage().maxRSS / 1_024);
process.disconnect?.();
