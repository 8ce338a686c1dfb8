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

/** When a reminder is looked at. */
export interface Wake {
  id: string;
  wakeAt: Instant;
}

/** The delayed jobs of a tenant's reminders. Asking twice for the same is asking once. */
export interface ReminderAlarms {
  set(wakes: readonly Wake[]): Promise<void>;
  cancel(wakes: readonly Wake[]): Promise<void>;
}

/** The way to give the workers of all replicas something to do. */
export interface WorkQueues {
  /**
   * Makes `name` repeat for those of these tenants that it would do something for, every so many milliseconds at a moment of its own, and for
   * no others. While the queues are open it is looked at every minute: for whom it would do something by now, what Redis lost, and what a
   * clock that ran ahead put off.
   */
  repeat: Repetitions['repeat'];
  /** Asks for a pull of a tenant now, unless one waits already; one that is under way is followed by another. */
  pullNow(tenant: string, delayMs?: number): Promise<void>;
  /** Has what a tenant's CRMs follow beside appointments read, as far as it is due then. */
  readStreams(tenant: string): Promise<void>;
  /** Gives a target's lane a turn after the delay. Whoever asks last decides when; one that is under way is followed by it. */
  wake(tenant: string, target: string, delayMs: number): Promise<void>;
  /**
   * Has a target read back after the delay. Asking again while that waits changes nothing; while the check is under way, another one
   * follows it.
   * @param options.once nothing is known to have changed: what can't be checked now need not be tried again
   */
  checkTarget(
    tenant: string,
    target: string,
    options: { delayMs: number; whole?: boolean; once?: boolean },
  ): Promise<void>;
  /** Has a tenant's notifications looked after. @param options.hurry also those that rest after a failure */
  renewSubscriptions(tenant: string, options?: { delayMs?: number; hurry?: boolean }): Promise<void>;
  /**
   * Gives a tenant's triggers a turn after the delay. Whoever asks last decides when; one that is under way is followed by it.
   * @param options.read the clinic's lists too, not only what waits
   */
  wakeTriggers(tenant: string, delayMs: number, options: { read: boolean }): Promise<void>;
  /** The alarms of a tenant's reminders. @param clock the one that their times go by */
  reminderAlarms(tenant: string, clock: Clock): ReminderAlarms;
  /** What waits in every queue, is under way and failed; `jobs` of each sort at most are named. */
  show(jobs: number): Promise<ShownQueue[]>;
  close(): Promise<void>;
}

const JOB_OPTIONS: JobsOptions = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 5 * SECOND_MS, jitter: 0.5 },
  removeOnComplete: { count: 50 },
  removeOnFail: { count: 200 },
};

/** How often it is looked whether what should repeat still does. */
const REPETITION_CHECK_MS = MINUTE_MS;
/** Part of that time over which a look at all tenants is spread. */
const LOOK_SHARE = 0.5;

/**
 * Opens the queues for giving work; nothing is worked on here.
 * @param spans what is asked for at once belongs to what asks for it; what comes later is traced by itself
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
    // Where BullMQ's own telemetry has it too.
    return { ...JOB_OPTIONS, ...options, ...(traceparent === null ? {} : { telemetry: { metadata: traceparent } }) };
  };
  const looking = lookRegularly(repetitions, checkEveryMs);
  return {
    repeat: (name, everyMs) => repetitions.repeat(name, everyMs),
    async pullNow(tenant, delayMs = 0) {
      // One that waits for long was put off by a clock that ran ahead.
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
    async checkTarget(tenant, target, { delayMs, whole = false, once = false }) {
      const id = `${tenant}/${target}${whole ? '/whole' : ''}${once ? '/once' : ''}`;
      const options = jobOptions({ delay: delayMs, deduplication: { id, keepLastIfActive: true } });
      await (await queueOf('check-target')).add('check-target', { tenant, target, whole, once }, options);
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

/** One look after the other; each has ended, or was broken off, when `end` returns. */
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

/** BullMQ is loaded with the first work that is given: most commands give none. */
async function openAll(redis: RedisLocation) {
  const { Queue } = await import('bullmq');
  const connection = connectRedis(redis);
  const names = Object.keys(JOBS) as JobName[];
  const queues = new Map(names.map((name) => [name, new Queue(name, { connection, prefix: QUEUE_PREFIX })]));
  for (const queue of queues.values()) queue.on('error', () => {});
  return { connection, queues };
}

/** Kept out of the queue once they are done, so that the same alarm may be set again. */
const ALARM_OPTIONS: JobsOptions = { ...JOB_OPTIONS, removeOnComplete: true, removeOnFail: true };
/** Alarms that are set in one go. */
const ALARM_BATCH = 500;

function openAlarms(queueOf: QueueOf, tenant: string, clock: Clock): ReminderAlarms {
  // Neither part can hold a colon, which BullMQ forbids. One that rings at another time is another job.
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

/** A job as people see it: ids of the configuration, and how it goes. Neither its other data nor why it failed: the log tells that. */
export interface ShownJob {
  id: string;
  tenant: string | null;
  target: string | null;
  /** When it was put in, when it is due, and when it ended, as far as it did. */
  addedAt: Instant;
  dueAt: Instant;
  endedAt: Instant | null;
  attempts: number;
}

/** A queue of work, which is called as its jobs are. */
export interface ShownQueue {
  queue: string;
  counts: { waiting: number; active: number; delayed: number; failed: number };
  waiting: ShownJob[];
  active: ShownJob[];
  failed: ShownJob[];
}

/** Looks at queues. @param most jobs of each sort that are named */
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

/** Jobs that went while they were looked at are left out. */
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

/** What the work of tenants is scheduled with. */
interface WorkParts {
  tenants: readonly TenantOutline[];
  queues: WorkQueues;
  /** Removes what is stored of triggers of a tenant that has none. */
  clearTriggers(tenant: string): Promise<unknown>;
  isNeedless: IsNeedless;
  log: Logger;
}

/** Tenants that are asked to begin at once. */
const TENANTS_AT_ONCE = 100;

/** Makes the work on every tenant repeat, and ends it for those that are gone. */
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
  // At once, so that each tenant is looked at once for all of them.
  await Promise.all([
    queues.repeat('pull', every(running, pullEverySeconds)),
    queues.repeat('audit', every(running, auditEverySeconds)),
    queues.repeat('triggers', new Map(triggers)),
    queues.repeat('refresh-tokens', every(tenants, tokenCheckEverySeconds)),
    queues.repeat('subscriptions', every(tenants, subscriptionCheckEverySeconds)),
  ]);
}

/**
 * Asks for a pull of these tenants, and for what else their last start may have left undone. The daemon runs meanwhile: what can't be asked
 * for comes at its own moment.
 * @param signal ends the asking
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
    log.warn({ error }, 'not every tenant could be asked to begin');
  }
}
