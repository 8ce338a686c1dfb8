import type { Job, JobsOptions, Queue } from 'bullmq';
import type { Spans } from '../core/log/logger.ts';
import { slices } from '../core/model/pieces.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import { connectRedis } from '../state/redis.ts';
import type { IsNeedless, Schedules } from './job-kinds.ts';
import { openRepetitions, type QueueOf, type Repetitions } from './repetitions.ts';

/** When a requested job runs. */
export interface JobRequest {
  /** A repeated request with the same name has no effect while one waits; a running job is followed by another. */
  once: string;
  delayMs?: number;
  /** The last request determines the time. Also corrects a job that was delayed by a clock that ran ahead. */
  reschedule?: boolean;
}

/** Time at which one object of a tenant is due for a job. */
export interface Wake {
  id: string;
  wakeAt: Instant;
}

/** Delayed jobs of a tenant's objects, one for each object and time. Repeated requests are idempotent. */
export interface Alarms {
  set(wakes: readonly Wake[]): Promise<void>;
  cancel(wakes: readonly Wake[]): Promise<void>;
}

/** Schedules jobs for the workers of all replicas. */
export interface JobQueues {
  /**
   * Repeats the jobs of a schedule for those of these tenants with work to do, at their interval and at a fixed offset per tenant. While the
   * queues are open, a check every minute adds tenants with new work, schedules that Redis lost, and schedules delayed by a clock that ran
   * ahead.
   */
  repeat: Repetitions['repeat'];
  add(job: string, data: { tenant: string } & Readonly<Record<string, unknown>>, request: JobRequest): Promise<void>;
  /**
   * Returns a tenant's alarms.
   * @param jobs kind of the alarms' jobs, with the field of their data that receives the object's id
   * @param clock clock for the alarms' times
   */
  alarms(jobs: { job: string; field: string }, tenant: string, clock: Clock): Alarms;
  /** Returns waiting, running and failed jobs of every queue, with up to `jobs` of each state listed. */
  show(jobs: number): Promise<ShownQueue[]>;
  close(): Promise<void>;
}

const JOB_OPTIONS: JobsOptions = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 5 * SECOND_MS, jitter: 0.5 },
  removeOnComplete: { count: 50 },
  removeOnFail: { count: 200 },
};

/** Interval of checks of repeated jobs. */
const REPETITION_CHECK_MS = MINUTE_MS;
/** Share of the interval over which a check of all tenants is spread. */
const LOOK_SHARE = 0.5;

/** Dependencies of the queues. */
export interface QueuesOptions {
  redis: RedisLocation;
  /** Names of the kinds of jobs. */
  names: readonly string[];
  schedules: Schedules;
  isNeedless: IsNeedless;
  /** Interval of checks of repeated jobs; a minute if absent. */
  checkEveryMs?: number;
  /** Immediate jobs belong to the requesting trace; delayed jobs begin a new trace. */
  spans: Spans;
}

/** Opens the queues to add work; this process runs no jobs. */
export function openQueues({ redis, names, schedules, isNeedless, checkEveryMs, spans }: QueuesOptions): JobQueues {
  let opened: ReturnType<typeof openAll> | null = null;
  const all = () => {
    opened ??= openAll(redis, names);
    return opened;
  };
  const queueOf: QueueOf = async (name) => (await all()).queues.get(name) as Queue;
  const connection = async () => (await all()).connection;
  const repetitions = openRepetitions({ schedules, queueOf, connection, isNeedless, options: JOB_OPTIONS });
  const looking = lookRegularly(repetitions, checkEveryMs ?? REPETITION_CHECK_MS);
  return {
    repeat: (name, everyMs) => repetitions.repeat(name, everyMs),
    async add(job, data, { once, delayMs = 0, reschedule = false }) {
      const traceparent = delayMs > 0 ? null : spans.traceparent();
      const deduplication = { id: once, keepLastIfActive: true, ...(reschedule && { reschedule }) };
      const options: JobsOptions = { ...JOB_OPTIONS, delay: delayMs, deduplication };
      // BullMQ's own telemetry uses the same field.
      if (traceparent !== null) options.telemetry = { metadata: traceparent };
      await (await queueOf(job)).add(job, data, options);
    },
    alarms: (jobs, tenant, clock) => openAlarms(() => queueOf(jobs.job), jobs, { tenant, clock }),
    show: async (jobs) => showQueues([...(await all()).queues.values()], jobs),
    async close() {
      await looking.end();
      if (opened === null) return;
      const { connection: client, queues } = await opened;
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      client.disconnect();
    },
  };
}

/** Runs the checks one after the other; each has ended or was aborted when `end` returns. */
function lookRegularly(repetitions: Repetitions, everyMs: number): { end(): Promise<void> } {
  const closing = new AbortController();
  let look: Promise<void> | null = null;
  const timer = setInterval(() => {
    look ??= repetitions
      .putBack(everyMs * LOOK_SHARE, closing.signal)
      .catch(() => {})
      .finally(() => {
        look = null;
      });
  }, everyMs).unref();
  return {
    async end() {
      clearInterval(timer);
      closing.abort();
      await look;
    },
  };
}

/** Loads BullMQ with the first job, because most commands add none. */
async function openAll(redis: RedisLocation, names: readonly string[]) {
  const { Queue } = await import('bullmq');
  const connection = connectRedis(redis);
  const queues = new Map(names.map((name) => [name, new Queue(name, { connection, prefix: QUEUE_PREFIX })]));
  for (const queue of queues.values()) queue.on('error', () => {});
  return { connection, queues };
}

/** Completed alarms are deleted, so that the same alarm can be set again. */
const ALARM_OPTIONS: JobsOptions = { ...JOB_OPTIONS, removeOnComplete: true, removeOnFail: true };
/** Alarms set in one batch. */
const ALARM_BATCH = 500;

function openAlarms(
  queueOf: () => Promise<Queue>,
  { job, field }: { job: string; field: string },
  { tenant, clock }: { tenant: string; clock: Clock },
): Alarms {
  // Neither part can contain a colon, which BullMQ forbids. An alarm at another time is another job.
  const jobId = ({ id, wakeAt }: Wake) => `${tenant}-${id}-${wakeAt}`;
  return {
    async set(wakes) {
      if (wakes.length === 0) return;
      const queue = await queueOf();
      for (const some of slices(wakes, ALARM_BATCH)) {
        const jobs = some.map((wake) => {
          const delay = Math.max(0, wake.wakeAt - clock());
          return {
            name: job,
            data: { tenant, [field]: wake.id },
            opts: { ...ALARM_OPTIONS, jobId: jobId(wake), delay },
          };
        });
        await queue.addBulk(jobs);
      }
    },
    async cancel(wakes) {
      if (wakes.length === 0) return;
      const queue = await queueOf();
      for (const wake of wakes) await queue.remove(jobId(wake));
    },
  };
}

/** A job for display: ids of the configuration, and its progress. Other data and failure reasons are only in the log. */
export interface ShownJob {
  id: string;
  tenant: string | null;
  target: string | null;
  /** Times of creation, due date and end, if known. */
  addedAt: Instant;
  dueAt: Instant;
  endedAt: Instant | null;
  attempts: number;
}

/** A queue, with the name of its jobs. */
export interface ShownQueue {
  queue: string;
  counts: { waiting: number; active: number; delayed: number; failed: number };
  waiting: ShownJob[];
  active: ShownJob[];
  failed: ShownJob[];
}

/**
 * Reads the queues.
 * @param most maximum listed jobs of each state
 */
function showQueues(queues: readonly Queue[], most: number): Promise<ShownQueue[]> {
  return Promise.all(
    queues.map(async (queue) => {
      const [counts, waiting, active, failed] = await Promise.all([
        queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
        queue.getJobs(['waiting', 'prioritized'], 0, most - 1, true),
        queue.getJobs(['active'], 0, most - 1, true),
        queue.getJobs(['failed'], 0, most - 1),
      ]);
      const { waiting: plain = 0, prioritized = 0, active: running = 0, delayed = 0, failed: ended = 0 } = counts;
      return {
        queue: queue.name,
        counts: { waiting: plain + prioritized, active: running, delayed, failed: ended },
        ...{ waiting: shown(waiting), active: shown(active), failed: shown(failed) },
      };
    }),
  );
}

/** Omits jobs deleted during the read. */
function shown(jobs: readonly (Job | undefined)[]): ShownJob[] {
  return jobs.flatMap((job) => (job === undefined ? [] : [shownJob(job)]));
}

function shownJob({ id, data, timestamp, delay, finishedOn, attemptsMade }: Job): ShownJob {
  return {
    id: id ?? '',
    tenant: textOf(data?.tenant),
    target: textOf(data?.target),
    ...{ addedAt: timestamp, dueAt: timestamp + (delay ?? 0) },
    endedAt: finishedOn ?? null,
    attempts: attemptsMade,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
