import { monitorEventLoopDelay } from 'node:perf_hooks';
import { honestRequest, RUNS } from './attack-runs.ts';

/** What one attack costs the other tenant, and the process. */
export interface Told {
  /** Milliseconds of each ordinary request. */
  aloneMs: number[];
  besideMs: number[];
  /** Longest delay of the event loop, for each server. */
  pausesMs: number[];
  /** Growth of the process's memory during the attack. */
  grownMebibytes: number;
}

/** Ordinary requests before the attack; the first ones are not measured, since the code is not yet compiled. */
const REQUESTS = { first: 100, alone: 300 };

/** The process of all tenants: `tenants-main.ts <number of the attack> <draws> <honest port> <hostile port>`. Reports to the parent. */
const [index = 0, draws = 0, honestPort = 0, hostilePort = 0] = process.argv.slice(2).map(Number);
const [name = '', run] = Object.entries(RUNS)[index] ?? [];
if (run === undefined) throw new Error('which attack?');
const request = honestRequest(`http://127.0.0.1:${honestPort}`);

async function measured(isDone: (count: number) => boolean): Promise<number[]> {
  const took: number[] = [];
  while (!isDone(took.length)) {
    const startedAt = performance.now();
    await request();
    took.push(performance.now() - startedAt);
  }
  return took;
}

await measured((count) => count >= REQUESTS.first);
const aloneMs = await measured((count) => count >= REQUESTS.alone);
const beforeMebibytes = process.resourceUsage().maxRSS / 1_024;
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const pausesMs: number[] = [];
let isOver = false;
const attack = (async () => {
  for (let draw = 0; draw < draws; draw += 1) {
    delay.reset();
    await run(`http://127.0.0.1:${hostilePort}/${encodeURIComponent(name)}/${draw}`);
    pausesMs.push(delay.max / 1e6);
  }
  isOver = true;
})();
const besideMs = await measured(() => isOver);
await attack;
delay.disable();
const told: Told = {
  ...{ aloneMs, besideMs, pausesMs },
  grownMebibytes: process.resourceUsage().maxRSS / 1_024 - beforeMebibytes,
};
process.send?.(told, () => process.exit());
