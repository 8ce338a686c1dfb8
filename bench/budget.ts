import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { renderTable } from '../src/cli/table.ts';
import { openBudgetShare } from '../src/state/budget.ts';
import { connectRedis, type RedisClient } from '../src/state/redis.ts';
import { startRedis } from '../tools/redis.ts';

const USAGE = `npm run budget -- [--tenants 60] [--pages 3] [--times 20] [--slots 8] [--minutes 75] [--speed 50] [--json]

Tenants that share one client id of 60 requests a minute (burst 10), each with a cycle of --pages requests every five minutes;
one of them has --times as many. --slots cycles run at once, over two processes' connections. The budget is the real one, on a
private Redis. --minutes are simulated: everything goes --speed times as fast, rates and waits alike, and figures are told in
simulated seconds. A clinic that counts refuses what is more than 60 and the burst within a minute. Figures go to standard
output; the exit code is 0 when every cycle that began ended or still goes on, and nothing was refused.`;

const PER_MINUTE = 60;
const BURST = 10;
const PERIOD_MS = 300_000;
const LATENCY_MS = 200;
/** How often it is noted how old each tenant's data is. */
const SAMPLE_MS = 5_000;

interface Tenant {
  id: string;
  kind: 'small' | 'large';
  requests: number;
  asOf: number;
  isWaiting: boolean;
  cycles: { begun: number; ended: number; brokenOff: number };
  ages: number[];
}

interface Kind {
  tenants: string;
  count: number;
  requestsPerCycle: number;
  begun: number;
  ended: number;
  brokenOff: number;
  stalenessP50: number;
  stalenessP95: number;
  stalenessMax: number;
}

const { values } = parseArgs({
  options: {
    tenants: { type: 'string', default: '60' },
    pages: { type: 'string', default: '3' },
    times: { type: 'string', default: '20' },
    slots: { type: 'string', default: '8' },
    minutes: { type: 'string', default: '75' },
    speed: { type: 'string', default: '50' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});
if (values.help) process.stdout.write(`${USAGE}\n`);
else await main();

async function main(): Promise<void> {
  const speed = Number(values.speed);
  const server = await startRedis();
  const connections = [connectRedis(server.url), connectRedis(server.url)];
  try {
    const tenants = tenantsOf(Number(values.tenants), Number(values.pages), Number(values.times));
    const clinic = countingClinic(speed);
    const ranMs = await run(tenants, connections, clinic, speed);
    const kinds = (['large', 'small'] as const).map((kind) => figuresOf(kind, tenants));
    const allowed = (ranMs / 60_000) * PER_MINUTE;
    const wanted = tenants.reduce((sum, { requests }) => sum + requests, 0) / (PERIOD_MS / 60_000);
    const totals = {
      speed,
      simulatedMinutes: Math.round(ranMs / 60_000),
      requests: clinic.served(),
      refused: clinic.refused(),
      wantedOfBudget: round(wanted / PER_MINUTE),
      usedOfBudget: round(clinic.served() / allowed),
    };
    const isGood = totals.refused === 0 && kinds.every(({ brokenOff }) => brokenOff === 0);
    process.stdout.write(`${values.json ? JSON.stringify({ kinds, ...totals }, null, 2) : render(kinds, totals)}\n`);
    process.exitCode = isGood ? 0 : 1;
  } finally {
    for (const connection of connections) connection.disconnect();
    await server.stop();
  }
}

function tenantsOf(count: number, pages: number, times: number): Tenant[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `tenant-${index}`,
    kind: index === 0 ? 'large' : 'small',
    requests: index === 0 ? pages * times : pages,
    asOf: 0,
    isWaiting: false,
    cycles: { begun: 0, ended: 0, brokenOff: 0 },
    ages: [],
  }));
}

/** @returns simulated milliseconds */
async function run(
  tenants: readonly Tenant[],
  connections: readonly RedisClient[],
  clinic: ReturnType<typeof countingClinic>,
  speed: number,
): Promise<number> {
  const startedAt = performance.now();
  const now = () => (performance.now() - startedAt) * speed;
  const endsAt = Number(values.minutes) * 60_000;
  const stop = new AbortController();
  const queue: Tenant[] = [];
  const pause = (ms: number) => sleep(ms / speed, undefined, { signal: stop.signal }).catch(() => {});

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
      if (tenant === undefined) await pause(200);
      else await cycle(tenant, connection);
    }
  }
  async function cycle(tenant: Tenant, connection: RedisClient): Promise<void> {
    const limits = { requestsPerMinute: PER_MINUTE * speed, burst: BURST };
    const share = openBudgetShare(connection, 'client', tenant.id, limits, 'background');
    const asOf = now();
    tenant.cycles.begun += 1;
    try {
      for (let request = 0; request < tenant.requests; request += 1) {
        await share.take(stop.signal);
        const isServed = clinic.ask();
        await pause(LATENCY_MS);
        if (!isServed) throw new Error('refused');
      }
      if (stop.signal.aborted) return;
      tenant.cycles.ended += 1;
      tenant.asOf = asOf;
    } catch {
      if (!stop.signal.aborted) tenant.cycles.brokenOff += 1;
    } finally {
      tenant.isWaiting = false;
    }
  }
  async function sample(): Promise<void> {
    while (!stop.signal.aborted) {
      await pause(SAMPLE_MS);
      // The first periods fill up what was empty.
      if (now() > 2 * PERIOD_MS) for (const tenant of tenants) tenant.ages.push(now() - tenant.asOf);
    }
  }

  const workers = Array.from({ length: Number(values.slots) }, (_, index) =>
    work(connections[index % connections.length] as RedisClient),
  );
  const all = [...tenants.map(schedule), ...workers, sample()];
  await pause(endsAt);
  const ranMs = now();
  stop.abort();
  await Promise.all(all);
  return ranMs;
}

/** Refuses what is more than its minute holds. */
function countingClinic(speed: number) {
  const minute: number[] = [];
  let served = 0;
  let refused = 0;
  return {
    served: () => served,
    refused: () => refused,
    ask(): boolean {
      const now = performance.now() * speed;
      while ((minute[0] ?? now) < now - 60_000) minute.shift();
      if (minute.length >= PER_MINUTE + BURST) {
        refused += 1;
        return false;
      }
      minute.push(now);
      served += 1;
      return true;
    },
  };
}

function figuresOf(kind: Tenant['kind'], tenants: readonly Tenant[]): Kind {
  const members = tenants.filter((tenant) => tenant.kind === kind);
  const ages = members.flatMap((tenant) => tenant.ages).sort((one, other) => one - other);
  const at = (share: number) =>
    Math.round((ages[Math.min(ages.length - 1, Math.floor(ages.length * share))] ?? 0) / 1_000);
  const sum = (of: keyof Tenant['cycles']) => members.reduce((total, { cycles }) => total + cycles[of], 0);
  return {
    tenants: kind,
    count: members.length,
    requestsPerCycle: members[0]?.requests ?? 0,
    begun: sum('begun'),
    ended: sum('ended'),
    brokenOff: sum('brokenOff'),
    stalenessP50: at(0.5),
    stalenessP95: at(0.95),
    stalenessMax: at(1),
  };
}

function round(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}

function render(kinds: readonly Kind[], totals: Record<string, number>): string {
  const header = ['tenants', 'count', 'requests', 'begun', 'ended', 'broken off', 'stale p50 s', 'p95 s', 'max s'];
  const rows = kinds.map((kind) => Object.values(kind).map(String));
  const lines = Object.entries(totals).map(([name, value]) => `${name}: ${value}`);
  return `${renderTable(
    header.map((heading) => ({ heading })),
    rows,
  )}\n\n${lines.join('\n')}`;
}
