import { setTimeout as pause } from 'node:timers/promises';
import { atLeast, type Figure } from '../figure.ts';
import { openWorld } from './world.ts';

const GOALS = new Map([
  [2, 1.9],
  [4, 3.6],
]);
/** What the goals are about, and one at which no core is full: what is missing there is no core's doing. */
const VENDOR_LATENCIES_MS = [50, 200];
/** Few targets, so that answers are the bottleneck and not the processor. */
const TARGETS_AT_ONCE = 8;
const SIZE = { tenants: 8, appointments: 100, targets: 8 };
/** What each clinic books at once, when every daemon runs. */
const BOOKED = 300;
/** Between these parts of all writes every process is at work. */
const FROM = 0.1;
const TO = 0.7;
/** Without a write for this time, the first sync is complete. */
const REST_MS = 5_000;

/** Processor time in seconds; the vendor is this process. */
interface Used {
  daemons: number;
  redis: number;
  vendor: number;
}

/** Writes a second of one, two and four daemons, each with eight targets at once of a vendor that takes one write a call and its time for it. */
export async function measureWorkers(_: unknown, say: (text: string) => void): Promise<Figure[]> {
  const figures: Figure[] = [];
  for (const latencyMs of VENDOR_LATENCIES_MS) {
    const one = await writesPerSecond(1, latencyMs, say);
    for (const [processes, goal] of GOALS) {
      const ours = await writesPerSecond(processes, latencyMs, say);
      const value = ours / one;
      const n = SIZE.tenants * BOOKED;
      figures.push({
        ...{ name: `workers ${processes} at ${latencyMs} ms`, ...atLeast(goal, value) },
        ...{ floor: one, ours, unit: 'writes/s', n },
      });
    }
  }
  return figures;
}

async function writesPerSecond(processes: number, latencyMs: number, say: (text: string) => void): Promise<number> {
  await using world = await openWorld({
    groups: [{ name: 'clinic', ...SIZE, sink: 'single' }],
    sinks: { single: { latencyMs } },
    connector: 'single-sink',
    settings: {
      schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 },
      // One vendor receives at most half of the concurrent writes.
      push: { targetConcurrency: 2 * TARGETS_AT_ONCE },
    },
  });
  await using daemons = new AsyncDisposableStack();
  const started = await Promise.all(Array.from({ length: processes }, () => world.startDaemon()));
  for (const daemon of started) daemons.use(daemon);
  await atRest();
  const before = written();
  const clinics = world.tenantsOf('clinic');
  await Promise.all(clinics.map((tenant) => world.book(tenant, BOOKED)));
  await Promise.all(clinics.map((tenant) => world.queues.pullNow(tenant)));
  const all = clinics.length * BOOKED;
  const [from, to] = [await reached(before + FROM * all), await reached(before + TO * all)];
  const [writes, seconds] = [to.count - from.count, (to.at - from.at) / 1_000];
  const milliseconds = (name: keyof Used) => (((to.used[name] - from.used[name]) / writes) * 1_000).toFixed(1);
  const shares = `daemons ${milliseconds('daemons')} ms, Redis ${milliseconds('redis')}, the vendor ${milliseconds('vendor')}`;
  const cores =
    Object.keys(to.used).reduce((sum, name) => sum + to.used[name as keyof Used] - from.used[name as keyof Used], 0) /
    seconds;
  say(
    `workers: ${processes} at ${latencyMs} ms: ${(writes / seconds).toFixed(0)} writes/s; processor time of a write: ${shares}; ${cores.toFixed(2)} cores`,
  );
  return writes / seconds;

  function used(): Used {
    const { user, system } = process.cpuUsage();
    const daemons = started.reduce((sum, daemon) => sum + daemon.cpuSeconds(), 0);
    return { daemons, redis: world.redisCpuSeconds(), vendor: (user + system) / 1e6 };
  }
  function written(): number {
    return [...world.sink.writes.values()].reduce((sum, { operations }) => sum + operations, 0);
  }
  /** Everything of the first sync is written. */
  async function atRest(): Promise<void> {
    for (let last = -1; written() === 0 || written() !== last; await pause(REST_MS)) last = written();
  }
  async function reached(goal: number): Promise<{ at: number; count: number; used: Used }> {
    for (;;) {
      const count = written();
      if (count >= goal) return { at: performance.now(), count, used: used() };
      await pause(20);
    }
  }
}
