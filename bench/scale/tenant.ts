import { Redis } from 'ioredis';
import { noSpans, silentLogger } from '../../src/core/log/logger.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { Turns } from '../../src/jobs/turns.ts';
import { startWorkers } from '../../src/jobs/workers.ts';
import { keysOfTenant } from '../../src/state/keys.ts';
import { keysLike } from '../../src/state/script.ts';
import { JOBS, type JobHandlers, type JobName, type SCHEDULES, type SharesOf } from '../../src/tenant/job-catalogue.ts';
import { openWorkQueues } from '../../src/tenant/work-queues.ts';
import { type PrivateRedis, startRedis } from '../../tools/redis.ts';
import { openCycleWorld } from '../cycle/world.ts';
import type { Figure } from '../figure.ts';

/** What a tenant is made of here, whatever the sizes of other measurements: as many small clinics are. */
const SMALL = { appointments: 300, targets: 3 };
/** Reports of the last cycles are kept; by then there are as many as ever. */
const CYCLES = 50;
const SCHEDULED_TENANTS = 1_000;
const JOBS_DONE = 2_000;
const REPEATED: readonly (keyof typeof SCHEDULES)[] = ['pull', 'audit', 'subscriptions', 'refresh-tokens', 'triggers'];

/**
 * Limits for 100,000 tenants, each with a cycle and 4.5 jobs in five minutes (`docs/scaling.md`), on one core of Redis for the cycles and
 * one for the jobs; their state and schedules use about ten gigabytes.
 */
const GOALS = { stateBytes: 100_000, scheduleBytes: 12_000, cycleMs: 3, jobMs: 0.66 };

/** Measures the Redis resources of one small tenant: memory of its state and schedule, processor time of a quiet cycle and of a job. */
export async function measureTenant(_: object, say: (text: string) => void): Promise<Figure[]> {
  say(`tenant: ${CYCLES} quiet cycles of ${SMALL.appointments} appointments and ${SMALL.targets} targets …`);
  const state = await measureState();
  say(`tenant: the schedules of ${SCHEDULED_TENANTS} tenants, and ${JOBS_DONE} jobs …`);
  const work = await measureWork();
  return [
    figure('tenant-state', state.bytes, GOALS.stateBytes, 'bytes', SMALL.appointments),
    figure('tenant-schedule', work.bytes, GOALS.scheduleBytes, 'bytes', SCHEDULED_TENANTS),
    figure('tenant-cycle', state.cycleMs, GOALS.cycleMs, 'ms of Redis', CYCLES),
    figure('tenant-job', work.jobMs, GOALS.jobMs, 'ms of Redis', JOBS_DONE),
  ];
}

function figure(name: string, value: number, goal: number, unit: string, n: number): Figure {
  return { name, value, goal, met: value <= goal, floor: null, ours: value, unit, n };
}

async function measureState(): Promise<{ bytes: number; cycleMs: number }> {
  await using world = await openCycleWorld(SMALL);
  await world.sync();
  const redis = new Redis(world.redis.url);
  const before = await cpuMsOf(redis);
  for (let cycle = 0; cycle < CYCLES; cycle += 1) await world.pull();
  const cycleMs = ((await cpuMsOf(redis)) - before) / CYCLES;
  let bytes = 0;
  for await (const key of keysLike(redis, keysOfTenant(world.tenant.id))) {
    bytes += (await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  }
  redis.disconnect();
  return { bytes, cycleMs };
}

async function measureWork(): Promise<{ bytes: number; jobMs: number }> {
  const server = await startRedis();
  const redis = new Redis(server.url);
  const queues = openWorkQueues(server.url, neverNeedless);
  const before = await memoryOf(redis);
  const names = Array.from({ length: SCHEDULED_TENANTS }, (_, tenant) => `tenant-${tenant}`);
  for (const name of REPEATED) await queues.repeat(name, new Map(names.map((tenant) => [tenant, 24 * HOUR_MS])));
  const bytes = ((await memoryOf(redis)) - before) / SCHEDULED_TENANTS;
  const jobMs = await measureJobs(server, redis, (tenant) => queues.pullNow(tenant));
  await queues.close();
  redis.disconnect();
  await server.stop();
  return { bytes, jobMs };
}

/** Giving out jobs that do nothing, and having them done. */
async function measureJobs(
  { url }: PrivateRedis,
  redis: Redis,
  give: (tenant: string) => Promise<void>,
): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let done = 0;
  const nothing = async () => {
    done += 1;
    if (done === JOBS_DONE) resolve();
  };
  const names = Object.keys(JOBS) as JobName[];
  const each = <Value>(value: Value) => Object.fromEntries(names.map((name) => [name, value]));
  const workers = startWorkers({
    kinds: JOBS,
    redis: url,
    handlers: each(nothing) as unknown as JobHandlers,
    inFlight: each(12) as Record<JobName, number>,
    sharesOf: each(() => []) as unknown as SharesOf,
    isNeedless: neverNeedless,
    turns: new Turns(),
    lockMs: 30_000,
    log: silentLogger,
    spans: noSpans,
  });
  const before = await cpuMsOf(redis);
  for (let tenant = 0; tenant < JOBS_DONE; tenant += 1) await give(`other-${tenant}`);
  await promise;
  const jobMs = ((await cpuMsOf(redis)) - before) / JOBS_DONE;
  await workers.close(1_000);
  return jobMs;
}

/** Bytes that a server holds. */
export async function memoryOf(redis: Redis): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(await redis.info('memory'))?.[1]);
}

/** Processor time that the server has used. */
async function cpuMsOf(redis: Redis): Promise<number> {
  const told = await redis.info('cpu');
  const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(told)?.[1]);
  return 1_000 * (seconds('used_cpu_user') + seconds('used_cpu_sys'));
}
