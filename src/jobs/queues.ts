import type { Job, JobsOptions, Queue } from 'bullmq';
import { type Logger, noSpans, type Spans } from '../log/logger.ts';
import { slices } from '../model/pieces.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import { connectRedis } from '../state/redis.ts';
import { type IsNeedless, JOBS, type JobName } from './job-catalogue.ts';
import { openRepetitions, type QueueOf, type Repetitions } from './repetitions.ts';

/** Time at which a reminder is due for a decision. */
export interface Wake {
  id: string;
  wakeAt: Instant;
}

/** The delayed jobs of a tenant's reminders. Repeated requests are idempotent. */
export interface ReminderAlarms {
  set(wakes: readonly Wake[]): Promise<void>;
  cancel(wakes: readonly Wake[]): Promise<void>;
}

/** Schedules work for the workers of all replicas. */
export interface WorkQueues {
  /**
   * Repeats `name` for those of these tenants with work to do, at their interval and at a fixed offset per tenant. While the queues are
   * open, a check every minute adds tenants with new work, schedules that Redis lost, and schedules delayed by a clock that ran ahead.
   */
  repeat: Repetitions['repeat'];
  /** Requests a pull of a tenant, unless a request waits. A running pull is followed by another. */
  pullNow(tenant: string, delayMs?: number): Promise<void>;
  /** Requests a read of the due additional streams of a tenant's CRMs. */
  readStreams(tenant: string): Promise<void>;
  /** Runs a target's lane after the delay. The last request determines the time; a running lane job is followed by another. */
  wake(tenant: string, target: string, delayMs: number): Promise<void>;
  /**
   * Audits a target after the delay. A repeated request has no effect while one waits; a running audit is followed by another.
   * @param options.once no change is known: if the audit cannot run now, no repetition is needed
   * @param options.changesOnly asks only the change feed
   */
  checkTarget(
    tenant: string,
    target: string,
    options: { delayMs: number; whole?: boolean; once?: boolean; changesOnly?: boolean },
  ): Promise<void>;
  /**
   * Maintains a tenant's notification subscriptions.
   * @param options.hurry includes subscriptions paused after a failure
   */
  renewSubscriptions(tenant: string, options?: { delayMs?: number; hurry?: boolean }): Promise<void>;
  /**
   * Runs a tenant's triggers after the delay. The last request determines the time.
   * @param options.read also reads the clinic's lists, not only waiting events
   */
  wakeTriggers(tenant: string, delayMs: number, options: { read: boolean }): Promise<void>;
  /**
   * Returns the alarms of a tenant's reminders.
   * @param clock clock for the alarms' times
   */
  reminderAlarms(tenant: string, clock: Clock): ReminderAlarms;
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

/**
 * Opens the queues to add work; this process runs no jobs.
 * @param spans immediate jobs belong to the requesting trace; delayed jobs begin a new trace
 */
export function openQueues(
  redis: RedisLocation,
  isNeedless: IsNeedless,
  checkEveryMs = REPETITION_CHECK_MS,
  spans: Spans = noSpans,
): WorkQueues {
  let opened: ReturnType<typeof openAll> | null = null;
  const all = () => {
    opened ??= openAll(redis);
    return opened;
  };
  const queueOf: QueueOf = async (name) => (await all()).queues.get(name) as Queue;
  const repetitions = openRepetitions(queueOf, async () => (await all()).connection, isNeedless, JOB_OPTIONS);
  const jobOptions = (options: JobsOptions): JobsOptions => {
    const traceparent = (options.delay ?? 0) > 0 ? null : spans.traceparent();
    // BullMQ's own telemetry uses the same field.
    return { ...JOB_OPTIONS, ...options, ...(traceparent === null ? {} : { telemetry: { metadata: traceparent } }) };
  };
  const looking = lookRegularly(repetitions, checkEveryMs);
  return {
    repeat: (name, everyMs) => repetitions.repeat(name, everyMs),
    async pullNow(tenant, delayMs = 0) {
      // `reschedule` also corrects a job delayed by a clock that ran ahead.
      const deduplication = { id: tenant, keepLastIfActive: true, reschedule: true };
      const options = jobOptions({ delay: delayMs, deduplication });
      await (await queueOf('pull')).add('pull', { tenant, asked: true }, options);
    },
    async readStreams(tenant) {
      const deduplication = { id: tenant, keepLastIfActive: true, reschedule: true };
      await (await queueOf('read-streams')).add('read-streams', { tenant }, jobOptions({ deduplication }));
    },
    async wake(tenant, target, delayMs) {
      const deduplication = { id: `${tenant}/${target}`, keepLastIfActive: true, reschedule: true };
      await (await queueOf('push')).add('push', { tenant, target }, jobOptions({ delay: delayMs, deduplication }));
    },
    async checkTarget(tenant, target, { delayMs, whole = false, once = false, changesOnly = false }) {
      const id = `${tenant}/${target}${whole ? '/whole' : ''}${once ? '/once' : ''}${changesOnly ? '/changes' : ''}`;
      const options = jobOptions({ delay: delayMs, deduplication: { id, keepLastIfActive: true } });
      await (await queueOf('check-target')).add(
        'check-target',
        { tenant, target, whole, once, ...(changesOnly && { changesOnly }) },
        options,
      );
    },
    async renewSubscriptions(tenant, { delayMs = 0, hurry = false } = {}) {
      const id = `${tenant}${hurry ? '/hurry' : ''}`;
      const options = jobOptions({ delay: delayMs, deduplication: { id, keepLastIfActive: true } });
      await (await queueOf('subscriptions')).add('subscriptions', { tenant, hurry }, options);
    },
    async wakeTriggers(tenant, delayMs, { read }) {
      const id = `${tenant}${read ? '/read' : ''}`;
      const deduplication = { id, keepLastIfActive: true, reschedule: true };
      await (await queueOf('triggers')).add(
        'triggers',
        { tenant, retry: !read },
        jobOptions({ delay: delayMs, deduplication }),
      );
    },
    reminderAlarms: (tenant, clock) => openAlarms(queueOf, tenant, clock),
    show: async (jobs) => showQueues([...(await all()).queues.values()], jobs),
    async close() {
      await looking.end();
      if (opened === null) return;
      const { connection, queues } = await opened;
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      connection.disconnect();
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
async function openAll(redis: RedisLocation) {
  const { Queue } = await import('bullmq');
  const connection = connectRedis(redis);
  const names = Object.keys(JOBS) as JobName[];
  const queues = new Map(names.map((name) => [name, new Queue(name, { connection, prefix: QUEUE_PREFIX })]));
  for (const queue of queues.values()) queue.on('error', () => {});
  return { connection, queues };
}

/** Completed alarms are deleted, so that the same alarm can be set again. */
const ALARM_OPTIONS: JobsOptions = { ...JOB_OPTIONS, removeOnComplete: true, removeOnFail: true };
/** Alarms set in one batch. */
const ALARM_BATCH = 500;

function openAlarms(queueOf: QueueOf, tenant: string, clock: Clock): ReminderAlarms {
  // Neither part can contain a colon, which BullMQ forbids. An alarm at another time is another job.
  const jobId = ({ id, wakeAt }: Wake) => `${tenant}-${id}-${wakeAt}`;
  return {
    async set(wakes) {
      if (wakes.length === 0) return;
      const queue = await queueOf('remind');
      for (let at = 0; at < wakes.length; at += ALARM_BATCH) {
        const jobs = wakes.slice(at, at + ALARM_BATCH).map((wake) => {
          const delay = Math.max(0, wake.wakeAt - clock());
          return {
            name: 'remind',
            data: { tenant, reminder: wake.id },
            opts: { ...ALARM_OPTIONS, jobId: jobId(wake), delay },
          };
        });
        await queue.addBulk(jobs);
      }
    },
    async cancel(wakes) {
      if (wakes.length === 0) return;
      const queue = await queueOf('remind');
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

/** Dependencies of scheduling the tenants' work. */
interface WorkParts {
  tenants: readonly TenantOutline[];
  queues: WorkQueues;
  /** Deletes stored trigger data of a tenant without triggers. */
  clearTriggers(tenant: string): Promise<unknown>;
  isNeedless: IsNeedless;
  log: Logger;
}

/** Tenants started in one batch. */
const TENANTS_AT_ONCE = 100;

/** Repeats the work on every tenant, and ends the work of removed tenants. */
export async function repeatWork(
  { tenants, queues }: Pick<WorkParts, 'tenants' | 'queues'>,
  { pullEverySeconds, auditEverySeconds, tokenCheckEverySeconds, subscriptionCheckEverySeconds }: Settings['schedule'],
): Promise<void> {
  const running = tenants.filter(({ paused }) => !paused);
  const every = (some: readonly TenantOutline[], seconds: number) =>
    new Map(some.map(({ id }) => [id, seconds * SECOND_MS]));
  const triggers = running.flatMap(({ id, triggersEveryMinutes: minutes }): [string, number][] =>
    minutes === null ? [] : [[id, minutes * MINUTE_MS]],
  );
  const changes = running.flatMap(({ id, changesEverySeconds: seconds }): [string, number][] =>
    seconds === null ? [] : [[id, seconds * SECOND_MS]],
  );
  // In parallel, so that one lookup per tenant serves all jobs.
  await Promise.all([
    queues.repeat('pull', every(running, pullEverySeconds)),
    queues.repeat('audit', every(running, auditEverySeconds)),
    queues.repeat('changes', new Map(changes)),
    queues.repeat('triggers', new Map(triggers)),
    queues.repeat('refresh-tokens', every(tenants, tokenCheckEverySeconds)),
    queues.repeat('subscriptions', every(tenants, subscriptionCheckEverySeconds)),
  ]);
}

/**
 * Requests a pull of these tenants, and other work that the last start may have left incomplete. The daemon runs meanwhile, and failed
 * requests are repeated at their regular time.
 * @param signal ends the requests
 */
export async function beginWork(
  { tenants, queues, clearTriggers, isNeedless, log }: WorkParts,
  signal: AbortSignal,
): Promise<void> {
  async function begin({ id, paused, triggersEveryMinutes }: TenantOutline): Promise<void> {
    if (triggersEveryMinutes === null) await clearTriggers(id);
    const [hasNoSubscriptions, pullsNothing] = await Promise.all([
      isNeedless('subscriptions', id),
      isNeedless('pull', id),
    ]);
    if (!hasNoSubscriptions) await queues.renewSubscriptions(id);
    if (paused) return;
    if (!pullsNothing) await queues.pullNow(id);
    if (triggersEveryMinutes !== null) await queues.wakeTriggers(id, 0, { read: true });
  }
  try {
    for (const some of slices(tenants, TENANTS_AT_ONCE)) {
      if (signal.aborted) return;
      await Promise.all(some.map(begin));
    }
  } catch (error) {
    log.warn({ error }, 'start could not be requested for every tenant');
  }
}
