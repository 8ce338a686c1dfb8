import { setTimeout as sleep } from 'node:timers/promises';
import { isNext48hDue, paceOf } from '../src/domain/pace.ts';
import { readClinic } from '../src/domain/read-clinic.ts';
import type { RunReport } from '../src/domain/runs.ts';
import { NO_STREAMS } from '../src/domain/streams.ts';
import type { Reach } from '../src/engine/target.ts';
import { openBudgetShare } from '../src/state/budget.ts';
import { connectRedis, type RedisClient } from '../src/state/redis.ts';
import { startRedis } from '../tools/redis.ts';
import { openCycleWorld } from './cycle/world.ts';
import { atMost, type Figure, shareOf } from './figure.ts';
import { requestsOf } from './sent.ts';

const GOALS = { besideLarge: 1.2, staleness: 0.25, inTime: 1.25, rest: 3.5, refused: 0 };
/** What a thousand tenants share: ten requests a second; another number of tenants shares as much each. */
const PER_MINUTE_AND_TENANT = 0.6;
const BURST = 10;
/** How often cycles should begin: more often than the budget could ever carry, and as by default. */
const INTERVALS_MS = { short: 60_000, usual: 300_000 };
const LATENCY_MS = 200;
/** Cycles of one client at once: four in each of two processes, with a connection each. */
const [PROCESSES, SLOTS] = [2, 4];
/** Everything goes so many times as fast as in life, rates and waits alike. */
const SPEED = 20;
/** Measured rounds of all tenants, after some rounds in which tenants find their pace. */
const ROUNDS = { before: 4, measured: 1 };
/** A large clinic asks so many times as much as the others. */
const LARGE_TIMES = 20;
/** How often it is noted how old each tenant's data is. */
const SAMPLE_MS = 5_000;
/** That of targets that don't choose another one. */
const WINDOW = { pastDays: 7, futureDays: 180 };
const NEVER = new AbortController().signal;

interface Tenant {
  id: string;
  last: Pick<RunReport, 'pace' | 'startedAt'> | undefined;
  /** As of when the next two days are known, and all. */
  soonAsOf: number;
  wholeAsOf: number;
  isWaiting: boolean;
}

/** Requests to the clinic. */
interface Costs {
  whole: number;
  near: number;
}

/** Observed ages over all tenants, in seconds. */
interface Ages {
  near: number[];
  whole: number[];
}

/**
 * Measures the age of the next two days' data, at the 95th percentile, while the cycles of many tenants share one client id. Compared with
 * reading all tenants one after the other without a pause; at the usual interval also with punctual cycles, and one tenant twenty times as
 * large with equal tenants. Also measures the age of all other data, and the requests that a counting clinic refused. The cost of a cycle
 * is counted at the sandbox, in the default window of targets. Budget and pace are the real ones; cycles without changes represent the
 * tenants' cycles.
 */
export async function measureBudget({ sharing }: { sharing: number }, say: (text: string) => void): Promise<Figure[]> {
  const costs = await countRequests();
  const perMinute = sharing * PER_MINUTE_AND_TENANT;
  const roundMs = (sharing * costs.whole * 60_000) / perMinute;
  const lastsMs = (ROUNDS.before + ROUNDS.measured) * roundMs;
  say(`budget: ${costs.whole} requests for a full read, ${costs.near} for the next two days`);
  say(`budget: ${sharing} tenants on one client, three times ${Math.round(lastsMs / SPEED / 1_000)} s …`);
  await using stack = new AsyncDisposableStack();
  const server = await startRedis();
  stack.defer(() => server.stop());
  const connections = Array.from({ length: PROCESSES }, () => connectRedis(server.url));
  stack.defer(() => connections.forEach((connection) => void connection.disconnect()));
  const clinic = countingClinic(perMinute);
  const p95 = async (everyMs: number, largeTimes = 1) => {
    const client = `client-${everyMs}-${largeTimes}`;
    const common = { connections, clinic, costs, perMinute, roundMs, lastsMs };
    const ages = await run(sharing, { ...common, client, everyMs, largeTimes });
    return { near: shareOf(ages.near, 0.95), whole: shareOf(ages.whole, 0.95) };
  };
  const [short, usual] = [await p95(INTERVALS_MS.short), await p95(INTERVALS_MS.usual)];
  const beside = await p95(INTERVALS_MS.usual, LARGE_TIMES);
  // Data is as old as its reading when that ends, and a round older when the next one ends.
  const floor = (0.95 * roundMs + (costs.whole * 60_000) / perMinute) / 1_000;
  const inTime = (0.95 * INTERVALS_MS.usual) / 1_000;
  const refused = clinic.refused();
  const each = { unit: 's', n: sharing };
  return [
    { name: 'budget', ...atMost(GOALS.staleness, short.near / floor), floor, ours: short.near, ...each },
    { name: 'budget rest', ...atMost(GOALS.rest, short.whole / floor), floor, ours: short.whole, ...each },
    { name: 'budget usual', ...atMost(GOALS.inTime, usual.near / inTime), floor: inTime, ours: usual.near, ...each },
    {
      ...{ name: 'budget with large', ...atMost(GOALS.besideLarge, beside.near / usual.near) },
      ...{ floor: usual.near, ours: beside.near, ...each },
    },
    { name: 'budget usual rest', ...atMost(GOALS.rest, usual.whole / floor), floor, ours: usual.whole, ...each },
    {
      ...{ name: 'budget refused', ...atMost(GOALS.refused, refused) },
      ...{ floor: null, ours: refused, unit: 'requests', n: clinic.served() },
    },
  ];
}

/** What a small tenant's cycle asks, in which nothing changed. */
async function countRequests(): Promise<Costs> {
  await using world = await openCycleWorld({ appointments: 300, targets: 3 });
  await world.sync();
  const targets = [...world.tenant.targets.values()].map((target) => ({
    ...target,
    configuration: { ...target.configuration, window: WINDOW },
  }));
  const count = async (reach: Reach) =>
    (await requestsOf(() => readClinic(world.tenant, targets, { reach, streams: NO_STREAMS }, NEVER))).length;
  return { whole: await count('whole'), near: await count('near') };
}

interface Parts {
  client: string;
  everyMs: number;
  /** Requests of the first tenant, relative to the others. The first tenant's own data is not measured. */
  largeTimes: number;
  connections: readonly RedisClient[];
  clinic: ReturnType<typeof countingClinic>;
  costs: Costs;
  perMinute: number;
  roundMs: number;
  lastsMs: number;
}

async function run(sharing: number, parts: Parts): Promise<Ages> {
  const { client, everyMs, largeTimes, connections, clinic, costs, perMinute, roundMs, lastsMs } = parts;
  const tenants = Array.from({ length: sharing }, (_, index): Tenant => {
    return { id: `tenant-${index}`, last: undefined, soonAsOf: 0, wholeAsOf: 0, isWaiting: false };
  });
  const beganAt = performance.now();
  const now = () => (performance.now() - beganAt) * SPEED;
  const stop = new AbortController();
  const queue: Tenant[] = [];
  const ages: Ages = { near: [], whole: [] };
  const pause = (ms: number) => sleep(ms / SPEED, undefined, { signal: stop.signal }).catch(() => {});

  /** Like BullMQ: each tenant has a separate start time, and is not scheduled again while it waits or works. */
  async function schedule(tenant: Tenant, index: number): Promise<void> {
    await pause((index * everyMs) / tenants.length);
    for (let at = now(); !stop.signal.aborted; at += everyMs) {
      if (!tenant.isWaiting) queue.push(tenant);
      tenant.isWaiting = true;
      await pause(at + everyMs - now());
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
    const limits = { requestsPerMinute: perMinute * SPEED, burst: BURST };
    const draw = { budget: client, participant: tenant.id, limits, priority: 'background' } as const;
    const share = openBudgetShare(connection, draw);
    const asOf = now();
    const pace = paceOf(tenant.last, asOf, everyMs);
    const isNear = isNext48hDue(pace);
    let isWhole = true;
    const requests = (isNear ? costs.near : costs.whole) * (tenant === tenants[0] ? largeTimes : 1);
    for (let request = 0; request < requests && isWhole; request += 1) {
      isWhole = await share.take(stop.signal).then(
        () => clinic.ask(),
        () => false,
      );
      await pause(LATENCY_MS);
    }
    tenant.last = { startedAt: asOf, pace: { ...pace, soonSince: isNear ? pace.soonSince + 1 : 0, isPlain: isWhole } };
    if (isWhole && !stop.signal.aborted) {
      tenant.soonAsOf = asOf;
      if (!isNear) tenant.wholeAsOf = asOf;
    }
    tenant.isWaiting = false;
  }
  async function sample(): Promise<void> {
    while (!stop.signal.aborted) {
      await pause(SAMPLE_MS);
      const at = now();
      if (at < ROUNDS.before * roundMs) continue;
      for (const tenant of largeTimes === 1 ? tenants : tenants.slice(1)) {
        ages.near.push((at - tenant.soonAsOf) / 1_000);
        ages.whole.push((at - tenant.wholeAsOf) / 1_000);
      }
    }
  }

  const workers = connections.flatMap((connection) => Array.from({ length: SLOTS }, () => work(connection)));
  const all = [...tenants.map(schedule), ...workers, sample()];
  await pause(lastsMs);
  stop.abort();
  await Promise.all(all);
  return ages;
}

/** Refuses what is more than its minute holds. */
function countingClinic(perMinute: number) {
  const minute: number[] = [];
  let [served, refused] = [0, 0];
  return {
    served: () => served,
    refused: () => refused,
    ask(): boolean {
      const now = performance.now() * SPEED;
      while ((minute[0] ?? now) < now - 60_000) minute.shift();
      const isServed = minute.length < perMinute + BURST;
      if (isServed) minute.push(now);
      if (isServed) served += 1;
      else refused += 1;
      return isServed;
    },
  };
}
