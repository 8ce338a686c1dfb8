import { Redis } from 'ioredis';
import { trickleSecondsOf } from '../cycle/quiet.ts';
import { commandsOf } from '../cycle/redis.ts';
import { openCycleWorld } from '../cycle/world.ts';
import { cpuSecondsOf, leastOf, secondsOf } from '../figure.ts';
import type { CycleCosts } from './growth.ts';
import { memoryOf } from './tenant.ts';

const TIMES = 3;

/**
 * Opens one tenant with many appointments and runs the first sync; reports the cost of cycles and the process's peak memory to the parent.
 */
const [appointments = 0, targets = 0, agendas = 0] = process.argv.slice(2).map(Number);
await using world = await openCycleWorld({ appointments, targets, agendas });
const redis = new Redis(world.redis.url);
const before = await memoryOf(redis);
const firstSeconds = await secondsOf(() => world.sync());
await world.pull();
const stateBytes = (await memoryOf(redis)) - before;
redis.disconnect();
const commands = await commandsOf(() => world.pull());
const quietWallSeconds = await leastOf(TIMES, () => secondsOf(() => world.pull()));
const quietSeconds = await leastOf(TIMES, () => cpuSecondsOf(() => world.pull()));
const trickleSeconds = await leastOf(TIMES, () => trickleSecondsOf(world, appointments));
const peakMebibytes = process.resourceUsage().maxRSS / 1_024;
const cycles = { firstSeconds, quietWallSeconds, quietSeconds, trickleSeconds };
process.send?.({ ...cycles, commands, stateBytes, peakMebibytes } satisfies CycleCosts);
process.disconnect?.();
