import { openCycleWorld } from './world.ts';

/** Runs one tenant's first sync and two quiet cycles, and reports the process's peak memory to the parent. */
const [appointments = 0, targets = 0] = process.argv.slice(2).map(Number);
await using world = await openCycleWorld({ appointments, targets });
await world.pull();
await world.push();
for (let cycle = 0; cycle < 2; cycle += 1) await world.pull();
process.send?.(process.resourceUsage().maxRSS / 1_024);
process.disconnect?.();
