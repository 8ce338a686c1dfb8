import { setTimeout as sleep } from 'node:timers/promises';
import { openBudgetShare } from '../src/state/budget.ts';
import { connectRedis, type RedisClient } from '../src/state/redis.ts';
import { startRedis } from '../tools/redis.ts';
import { atMost, type Figure } from './figure.ts';

const GOALS = { staleness: 0.25, refused: 0 };
const PER_MINUTE = 600;
const BURST = 10;
const PERIOD_MS = 300_000;
const LATENCY_MS = 200;
/** Requests that read a tenant's whole window: half a year in calls of a month. */
const PAGES = 6;
/** Cycles of one client at once: four in each of two processes, with a connection each. */
const [PROCESSES, SLOTS] = [2, 4];
/** Everything goes so many times as fast as in life, rates and waits alike. */
const SPEED = 20;
/** Rounds over all tenants that are measured, after one that fills what was empty. */
const ROUNDS = 3;
/** How often it is noted how old each tenant's data is. */
const SAMPLE_MS = 5_000;

interface Tenant {
  id: string;
  asOf: number;
  isWaiting: boolean;
  ages: number[];
}

/**
 * How old the next two days are, at the 95th percentile, when the cycles of so many tenants draw on one client id, against reading all tenants
 * one after the other without a pause; and how many requests a clinic that counts refused. The budget is the real one.
 */
export async function measureBudget({ sharing }: { sharing: number }, say: (text: string) => void): Promise<Figure[]> {
  const roundMs = (sharing * PAGES * 60_000) / PER_MINUTE;
  say(`budget: ${sharing} tenants on one client, ${Math.round(((ROUNDS + 1) * roundMs) / SPEED / 1_000)} s …`);
  await using stack = new AsyncDisposableStack();
  const server = await startRedis();
  stack.defer(() => server.stop());
  const connections = Array.from({ length: PROCESSES }, () => connectRedis(server.url));
  stack.defer(() => connections.forEach((connection) => void connection.disconnect()));
  const tenants = Array.from({ length: sharing }, (_, index) => ({
    ...{ id: `tenant-${index}`, asOf: 0, isWaiting: false, ages: [] },
  }));
  const clinic = countingClinic();
  await run(tenants, connections, clinic, roundMs);
  const ages = tenants.flatMap((tenant: Tenant) => tenant.ages).sort((one, other) => one - other);
  const ours = (ages[Math.floor(ages.length * 0.95)] ?? Number.NaN) / 1_000;
  // Data is as old as its reading when that ends, and a round older when the next one ends.
  const floor = (0.95 * roundMs + (PAGES * 60_000) / PER_MINUTE) / 1_000;
  const refused = clinic.refused();
  return [
    { name: 'budget', ...atMost(GOALS.staleness, ours / floor), floor, ours, unit: 's', n: sharing },
    {
      ...{ name: 'budget refused', ...atMost(GOALS.refused, refused) },
      ...{ floor: null, ours: refused, unit: 'requests', n: clinic.served() },
    },
  ];
}

async function run(
  tenants: Tenant[],
  connections: readonly RedisClient[],
  clinic: ReturnType<typeof countingClinic>,
  roundMs: number,
): Promise<void> {
  const startedAt = performance.now();
  const now = () => (performance.now() - startedAt) * SPEED;
  const stop = new AbortController();
  const queue: Tenant[] = [];
  const pause = (ms: number) => sleep(ms / SPEED, undefined, { signal: stop.signal }).catch(() => {});

  /** As BullMQ does: each tenant at a moment of its own, and not again while it waits or is at work. */
  async function schedule(tenant: Tenant, index: number): Promise<void> {
    await pause((index * PERIOD_MS) / tenants.length);
    for (let at = now(); !stop.signal.aborted; at += PERIOD_MS) {
      if (!tenant.isWaiting) queue.push(tenant);
      tenant.isWaiting = true;
      await pause(at + PERIOD_MS - now());
    }
  }
  async function work(connection: RedisClient): Promise<void> {
    while (!stop.signal.aborted) {
      const tenant = queue.shift();
      if (tenant === undefined) await pause(LATENCY_MS);
      else await cycle(tenant, connection);
    }
  }
  async function cycle(tenant: Tenant, connection: RedisClient): Promise<void> {
    const limits = { requestsPerMinute: PER_MINUTE * SPEED, burst: BURST };
    const share = openBudgetShare(connection, 'client', tenant.id, limits, 'background');
    const asOf = now();
    let isWhole = true;
    for (let page = 0; page < PAGES && isWhole; page += 1) {
      isWhole = await share.take(stop.signal).then(
        () => clinic.ask(),
        () => false,
      );
      await pause(LATENCY_MS);
    }
    if (isWhole && !stop.signal.aborted) tenant.asOf = asOf;
    tenant.isWaiting = false;
  }
  async function sample(): Promise<void> {
    while (!stop.signal.aborted) {
      await pause(SAMPLE_MS);
      if (now() > roundMs) for (const tenant of tenants) tenant.ages.push(now() - tenant.asOf);
    }
  }

  const workers = connections.flatMap((connection) => Array.from({ length: SLOTS }, () => work(connection)));
  const all = [...tenants.map(schedule), ...workers, sample()];
  await pause((ROUNDS + 1) * roundMs);
  stop.abort();
  await Promise.all(all);
}

/** Refuses what is more than its minute holds. */
function countingClinic() {
  const minute: number[] = [];
  let [served, refused] = [0, 0];
  return {
    served: () => served,
    refused: () => refused,
    ask(): boolean {
      const now = performance.now() * SPEED;
      while ((minute[0] ?? now) < now - 60_000) minute.shift();
      const isServed = minute.length < PER_MINUTE + BURST;
      if (isServed) minute.push(now);
      if (isServed) served += 1;
      else refused += 1;
      return isServed;
    },
  };
}
