import { setTimeout as pause } from 'node:timers/promises';
import { atMost, type Figure, shareOf } from '../figure.ts';
import { openWorld } from './world.ts';

const GOALS = { near: { p50: 50, p95: 150, p99: 250 }, distant: { p50: 250, p95: 500, p99: 1_000 } };
const APPOINTMENTS = 300;
/** Three of them are slower than p99. */
const CHANGES = 300;
/** Latency of a clinic on the internet. */
const DISTANT_MS = 50;
/** Time for secondary work after a write. */
const REST_MS = 300;

/**
 * Measures the time from a requested cycle, after a change in the clinic's answer, to the write at the target's server. The daemon has one
 * clinic and no other work. The time includes reading, planning, both jobs in the queue and one request to each server. Once with a clinic
 * that answers immediately, and once with one that answers after 50 ms.
 */
export async function measureLatency(_: unknown, say: (text: string) => void): Promise<Figure[]> {
  say(`latency: ${CHANGES} changes of a clinic of ${APPOINTMENTS} appointments …`);
  const near = await lagsOf(0);
  say(`latency: the same with a clinic that answers after ${DISTANT_MS} ms …`);
  const distant = await lagsOf(DISTANT_MS);
  return [
    ...figures('latency', near, GOALS.near),
    ...figures(`latency, clinic ${DISTANT_MS} ms`, distant, GOALS.distant),
  ];
}

async function lagsOf(latencyMs: number): Promise<number[]> {
  const slow = latencyMs === 0 ? {} : { slow: { tenants: 1, latencyMs } };
  await using world = await openWorld({
    groups: [{ name: 'idle', tenants: 1, appointments: APPOINTMENTS, sink: 'good', ...slow }],
    sinks: { good: { latencyMs: 0 } },
    settings: { schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 } },
  });
  const [tenant = ''] = world.tenantsOf('idle');
  const first = world.sink.nextWrite(tenant);
  await using _daemon = await world.startDaemon();
  await first;
  world.slow();
  const lags: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    await pause(REST_MS);
    const written = world.sink.nextWrite(tenant);
    await world.book(tenant);
    const askedAt = Date.now();
    await world.queues.pullNow(tenant);
    lags.push((await written) - askedAt);
  }
  return lags;
}

function figures(name: string, lags: readonly number[], goals: { p50: number; p95: number; p99: number }): Figure[] {
  const figure = (share: keyof typeof goals, part: number): Figure => {
    const ours = shareOf(lags, part);
    return { name: `${name} ${share}`, ...atMost(goals[share], ours), floor: null, ours, unit: 'ms', n: lags.length };
  };
  return [figure('p50', 0.5), figure('p95', 0.95), figure('p99', 0.99)];
}
