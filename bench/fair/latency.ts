import { setTimeout as pause } from 'node:timers/promises';
import { atMost, type Figure, shareOf } from '../figure.ts';
import { openWorld } from './world.ts';

const GOALS = { p50: 50, p95: 150 };
const APPOINTMENTS = 300;
const CHANGES = 100;
/** Time for secondary work after a write. */
const REST_MS = 300;

/**
 * Measures the time from a requested cycle, after a change in the clinic's answer, to the write at the target's server. The daemon has one
 * clinic and no other work. The time includes reading, planning, both jobs in the queue and one request to each server.
 */
export async function measureLatency(_: unknown, say: (text: string) => void): Promise<Figure[]> {
  say(`latency: ${CHANGES} changes of a clinic of ${APPOINTMENTS} appointments …`);
  await using world = await openWorld({
    groups: [{ name: 'idle', tenants: 1, appointments: APPOINTMENTS, sink: 'good' }],
    sinks: { good: { latencyMs: 0 } },
    settings: { schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 } },
  });
  const [tenant = ''] = world.tenantsOf('idle');
  const first = world.sink.nextWrite(tenant);
  await using _daemon = await world.startDaemon();
  await first;
  const lags: number[] = [];
  for (let change = 0; change < CHANGES; change += 1) {
    await pause(REST_MS);
    const written = world.sink.nextWrite(tenant);
    await world.book(tenant);
    const askedAt = Date.now();
    await world.queues.pullNow(tenant);
    lags.push((await written) - askedAt);
  }
  const figure = (name: string, ours: number, goal: number): Figure => ({
    ...{ name, ...atMost(goal, ours), floor: null, ours, unit: 'ms', n: lags.length },
  });
  return [figure('latency p50', shareOf(lags, 0.5), GOALS.p50), figure('latency p95', shareOf(lags, 0.95), GOALS.p95)];
}
