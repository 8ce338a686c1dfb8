import { setTimeout as pause } from 'node:timers/promises';
import { atLeast, type Figure } from '../figure.ts';
import { openWorld } from './world.ts';

const GOALS = new Map([
  [2, 1.9],
  [4, 3.6],
]);
const VENDOR_LATENCY_MS = 50;
/** Few enough that answers are what is waited for, and no processor. */
const TARGETS_AT_ONCE = 8;
const SIZE = { tenants: 8, appointments: 100, targets: 8 };
/** What each clinic books at once, when every daemon runs. */
const BOOKED = 300;
/** Between these parts of all writes every process is at work. */
const FROM = 0.1;
const TO = 0.7;
/** Nothing was written for so long: the first sync is over. */
const REST_MS = 5_000;

/** Writes a second of one, two and four daemons, each with eight targets at once of a vendor that takes one write a call, 50 ms each. */
export async function measureWorkers(_: unknown, say: (text: string) => void): Promise<Figure[]> {
  const one = await writesPerSecond(1, say);
  const figures: Figure[] = [];
  for (const [processes, goal] of GOALS) {
    const ours = await writesPerSecond(processes, say);
    const value = ours / one;
    const n = SIZE.tenants * BOOKED;
    figures.push({
      ...{ name: `workers ${processes}`, ...atLeast(goal, value) },
      ...{ floor: one, ours, unit: 'writes/s', n },
    });
  }
  return figures;
}

async function writesPerSecond(processes: number, say: (text: string) => void): Promise<number> {
  say(`workers: ${processes} of them …`);
  await using world = await openWorld({
    groups: [{ name: 'clinic', ...SIZE, sink: 'single' }],
    sinks: { single: { latencyMs: VENDOR_LATENCY_MS } },
    connector: 'single-sink',
    settings: {
      schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 },
      // One vendor has half of what is written to at once.
      push: { targetConcurrency: 2 * TARGETS_AT_ONCE },
    },
  });
  await using daemons = new AsyncDisposableStack();
  const starting = Array.from({ length: processes }, () => world.startDaemon());
  for (const daemon of await Promise.all(starting)) daemons.use(daemon);
  await atRest();
  const before = written();
  const clinics = world.tenantsOf('clinic');
  await Promise.all(clinics.map((tenant) => world.book(tenant, BOOKED)));
  await Promise.all(clinics.map((tenant) => world.queues.pullNow(tenant)));
  const all = clinics.length * BOOKED;
  const [from, to] = [await reached(before + FROM * all), await reached(before + TO * all)];
  return (to.count - from.count) / ((to.at - from.at) / 1_000);

  function written(): number {
    return [...world.sink.writes.values()].reduce((sum, { operations }) => sum + operations, 0);
  }
  /** Everything of the first sync is written. */
  async function atRest(): Promise<void> {
    for (let last = -1; written() === 0 || written() !== last; await pause(REST_MS)) last = written();
  }
  async function reached(goal: number): Promise<{ at: number; count: number }> {
    for (;;) {
      const count = written();
      if (count >= goal) return { at: performance.now(), count };
      await pause(20);
    }
  }
}
