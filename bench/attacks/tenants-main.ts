import { monitorEventLoopDelay } from 'node:perf_hooks';
import { RUNS } from '../../test/attacks/hostile-runs.ts';
import { honestRequest } from './honest-request.ts';

/** Milliseconds of each ordinary request of a clinic without latency, and of a clinic on the internet. */
export interface Requests {
  nearMs: number[];
  distantMs: number[];
}

/** What one attack costs the other tenant, and the process. */
export interface Told {
  alone: Requests;
  beside: Requests;
  /** Longest delay of the event loop, for each server. */
  pausesMs: number[];
  /** Growth of the process's memory during the attack. */
  grownMebibytes: number;
}

/** Requests of each clinic, alone and beside an attack, at least. */
const REQUESTS = 400;
/** Requests to the distant clinic at a time. */
const AT_ONCE = 4;

/** The process of all tenants: `tenants-main.ts <number of the attack> <draws> <honest port> <hostile port>`. Reports to the parent. */
const [index = 0, draws = 0, honestPort = 0, hostilePort = 0] = process.argv.slice(2).map(Number);
const [name = '', run] = Object.entries(RUNS)[index] ?? [];
if (run === undefined) throw new Error('which attack?');
const near = honestRequest(`http://127.0.0.1:${honestPort}/honest`);
const distant = honestRequest(`http://127.0.0.1:${honestPort}/distant`);

/** Asks both clinics at the same time. */
async function measured(isDone: () => boolean): Promise<Requests> {
  const took: Requests = { nearMs: [], distantMs: [] };
  const isEnough = () => isDone() && Math.min(took.nearMs.length, took.distantMs.length) >= REQUESTS;
  const repeat = async (request: () => Promise<void>, times: number[]) => {
    while (!isEnough()) {
      const startedAt = performance.now();
      await request();
      times.push(performance.now() - startedAt);
    }
  };
  await Promise.all([
    repeat(near, took.nearMs),
    ...Array.from({ length: AT_ONCE }, () => repeat(distant, took.distantMs)),
  ]);
  return took;
}

// The hostile server writes its answers before.
await fetch(`http://127.0.0.1:${hostilePort}/${encodeURIComponent(name)}/open`);
// The first requests do not count, since the code is not yet compiled.
await measured(() => true);
const alone = await measured(() => true);
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
const beside = await measured(() => isOver);
await attack;
delay.disable();
const told: Told = {
  ...{ alone, beside, pausesMs },
  grownMebibytes: process.resourceUsage().maxRSS / 1_024 - beforeMebibytes,
};
process.send?.(told, () => process.exit());
