import { DelayedError, type Job, type JobsOptions, Queue, Worker } from 'bullmq';
import type { Logger } from '../log/logger.ts';
import { asMirrorError } from '../model/errors.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { RedisPlace } from '../settings/redis-schema.ts';
import { SUPERSEDED } from '../state/generations.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import { connectForWorkers, connectRedis, type RedisClient } from '../state/redis.ts';
import { JOBS, type JobData, type JobName } from './catalogue.ts';
import type { IsNeedless } from './needless.ts';
import type { ReminderAlarms, Wake } from './open-reminders.ts';
import { openRepetitions, type Repetitions } from './repetitions.ts';
import type { SharesOf } from './shares.ts';
import type { Turns } from './turns.ts';

/** What a handler is told beside the data of its job. */
export interface JobSignals {
  /** Asks for an early end between steps. */
  stop: AbortSignal;
  /** The same in the middle of one. */
  abort: AbortSignal;
  /** How often the job was taken up, by whatever process, this time included. */
  taken: number;
}

/** What is done for each job. */
export type JobHandlers = {
  [Name in JobName]: (data: JobData<Name>, signals: JobSignals) => Promise<void>;
};

/**
 * Thrown by a handler whose job is another process's: it goes back into the queue until that one takes it. Redis hands jobs to whoever
 * waited longest, so it goes round.
 */
export class ForAnotherProcess extends Error {}
/** A job that was handed on so often, for two seconds, is nobody's: the process that it was meant for is gone, or has too much to do. */
export const MOST_HAND_ONS = 20;
const HAND_ON_MS = 100;

/** How the workers run. */
export interface WorkersOptions {
  redis: RedisPlace;
  handlers: JobHandlers;
  /** Turns of each kind that may be under way in this process at once; nearly all of them wait for answers. */
  inFlight: Record<JobName, number>;
  sharesOf: SharesOf;
  isNeedless: IsNeedless;
  turns: Turns;
  /** A job whose worker died is taken up again after one to two of these; the leases decide when its work may go on. */
  lockMs: number;
  log: Logger;
}

/** The way to give the workers of all replicas something to do. */
export interface WorkQueues {
  /**
   * Makes `name` repeat for these tenants, every so many milliseconds at a moment of its own, and for no others. While the queues are open
   * what repeats is put back within a minute when Redis was emptied, or when a clock that ran ahead put it off.
   */
  repeat: Repetitions['repeat'];
  /** Asks for a pull of a tenant now, unless one waits already; one that is under way is followed by another. */
  pullNow(tenant: string, delayMs?: number): Promise<void>;
  /** Has what a tenant's CRMs follow beside appointments read, as far as it is due then. */
  readStreams(tenant: string): Promise<void>;
  /** Gives a target's lane a turn after the delay. Whoever asks last decides when; one that is under way is followed by it. */
  wake(tenant: string, target: string, delayMs: number): Promise<void>;
  /**
   * Has a target looked at after the delay. Asking again while that waits changes nothing; while the look is under way, another one
   * follows it.
   * @param options.once nothing is known to have changed: what can't be looked at now need not be tried again
   */
  look(tenant: string, target: string, options: { delayMs: number; whole?: boolean; once?: boolean }): Promise<void>;
  /** Has a tenant's notifications looked after. @param options.hurry also those that rest after a failure */
  keepChannels(tenant: string, options?: { delayMs?: number; hurry?: boolean }): Promise<void>;
  /**
   * Gives a tenant's triggers a turn after the delay. Whoever asks last decides when; one that is under way is followed by it.
   * @param options.read the clinic's lists too, not only what waits
   */
  wakeTriggers(tenant: string, delayMs: number, options: { read: boolean }): Promise<void>;
  /** The alarms of a tenant's reminders. @param clock the one that their times go by */
  reminderAlarms(tenant: string, clock: Clock): ReminderAlarms;
  close(): Promise<void>;
}

/** Running workers. */
export interface Workers {
  /** Lets what runs come to an end, for at most `graceMs`, then breaks it off. */
  close(graceMs: number): Promise<void>;
}

const JOB_OPTIONS: JobsOptions = {
  attempts: 3,
  backoff: { type: 'exponential', delay: 5 * SECOND_MS, jitter: 0.5 },
  removeOnComplete: { count: 50 },
  removeOnFail: { count: 200 },
};

const NAMES = Object.keys(JOBS) as JobName[];
/** After so long a job is tried again that this process must not do: another one may take it then. */
const LEFT_MS = 2 * SECOND_MS;
/** A job that waits for room comes back by itself after this time, and later the more are ahead: this process may have died. */
const PARKED_MS = 30 * SECOND_MS;
const PARKED_EACH_MS = 10;
/** How often it is looked whether what should repeat still does. */
const REPETITION_CHECK_MS = MINUTE_MS;

/** Opens the queues for giving work; nothing is worked on here. */
export function openQueues(redis: RedisPlace, checkEveryMs = REPETITION_CHECK_MS): WorkQueues {
  const connection = connectRedis(redis);
  const queues = new Map(NAMES.map((name) => [name, new Queue(name, { connection, prefix: QUEUE_PREFIX })]));
  for (const queue of queues.values()) queue.on('error', () => {});
  const queueOf = (name: JobName) => queues.get(name) as Queue;
  const repetitions = openRepetitions(queueOf, connection, JOB_OPTIONS);
  const timer = setInterval(() => void repetitions.putBack(), checkEveryMs).unref();
  return {
    repeat: repetitions.repeat,
    async pullNow(tenant, delayMs = 0) {
      // One that waits for long was put off by a clock that ran ahead.
      const deduplication = { id: tenant, keepLastIfActive: true, reschedule: true };
      const options = { ...JOB_OPTIONS, delay: delayMs, deduplication };
      await queueOf('pull').add('pull', { tenant, asked: true }, options);
    },
    async readStreams(tenant) {
      const deduplication = { id: tenant, keepLastIfActive: true, reschedule: true };
      await queueOf('read-streams').add('read-streams', { tenant }, { ...JOB_OPTIONS, deduplication });
    },
    async wake(tenant, target, delayMs) {
      const deduplication = { id: `${tenant}/${target}`, keepLastIfActive: true, reschedule: true };
      await queueOf('push').add('push', { tenant, target }, { ...JOB_OPTIONS, delay: delayMs, deduplication });
    },
    async look(tenant, target, { delayMs, whole = false, once = false }) {
      const id = `${tenant}/${target}${whole ? '/whole' : ''}${once ? '/once' : ''}`;
      const options = { ...JOB_OPTIONS, delay: delayMs, deduplication: { id, keepLastIfActive: true } };
      await queueOf('look').add('look', { tenant, target, whole, once }, options);
    },
    async keepChannels(tenant, { delayMs = 0, hurry = false } = {}) {
      const id = `${tenant}${hurry ? '/hurry' : ''}`;
      const options = { ...JOB_OPTIONS, delay: delayMs, deduplication: { id, keepLastIfActive: true } };
      await queueOf('channels').add('channels', { tenant, hurry }, options);
    },
    async wakeTriggers(tenant, delayMs, { read }) {
      const id = `${tenant}${read ? '/read' : ''}`;
      const deduplication = { id, keepLastIfActive: true, reschedule: true };
      await queueOf('triggers').add(
        'triggers',
        { tenant, retry: !read },
        { ...JOB_OPTIONS, delay: delayMs, deduplication },
      );
    },
    reminderAlarms: (tenant, clock) => openAlarms(queueOf('remind'), tenant, clock),
    async close() {
      clearInterval(timer);
      await Promise.all([...queues.values()].map((queue) => queue.close()));
      connection.disconnect();
    },
  };
}

/** Kept out of the queue once they are done, so that the same alarm may be set again. */
const ALARM_OPTIONS: JobsOptions = { ...JOB_OPTIONS, removeOnComplete: true, removeOnFail: true };
/** Alarms that are set in one go. */
const ALARM_BATCH = 500;

function openAlarms(queue: Queue, tenant: string, clock: Clock): ReminderAlarms {
  // Neither part can hold a colon, which BullMQ forbids. One that rings at another time is another job.
  const jobId = ({ id, wakeAt }: Wake) => `${tenant}-${id}-${wakeAt}`;
  return {
    async set(wakes) {
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
      for (const wake of wakes) await queue.remove(jobId(wake));
    },
  };
}

/** Starts a worker for each queue. */
export function startWorkers(options: WorkersOptions): Workers {
  const stop = new AbortController();
  const abort = new AbortController();
  const signals = { stop: stop.signal, abort: abort.signal };
  const connection = connectForWorkers(options.redis);
  const workers = NAMES.map((name) => startWorker(name, options, connection, signals));
  return {
    async close(graceMs) {
      stop.abort();
      const timer = setTimeout(() => abort.abort(), graceMs);
      await Promise.all(workers.map((worker) => worker.close()));
      clearTimeout(timer);
      connection.disconnect();
    },
  };
}

function startWorker(
  name: JobName,
  options: WorkersOptions,
  connection: RedisClient,
  signals: Omit<JobSignals, 'taken'>,
): Worker {
  const worker = new Worker(name, (job, token) => handle(name, job, options, signals, token), {
    connection,
    prefix: QUEUE_PREFIX,
    concurrency: options.inFlight[name],
    lockDuration: options.lockMs,
    // Redis takes whole milliseconds; else nothing that a dead worker left is ever taken up.
    stalledInterval: Math.floor(options.lockMs / 2),
    // A job that was cut off by a crash is safe to run again however often: leases and keys see to it.
    maxStalledCount: 100,
  });
  // That Redis is away is told by who watches it. What it refuses would go on unseen: jobs of dead workers would stay where they are.
  worker.on('error', (error) =>
    options.log[error.name === 'ReplyError' ? 'warn' : 'debug'](
      { job: name, error: asMirrorError(error) },
      'Redis refused a worker',
    ),
  );
  return worker;
}

/** One bad job fails alone and is tried again; it never stops the worker. */
async function handle(
  name: JobName,
  job: Job,
  options: WorkersOptions,
  signals: Omit<JobSignals, 'taken'>,
  token: string | undefined,
): Promise<void> {
  const parsed = JOBS[name].data.safeParse(job.data);
  if (!parsed.success) {
    options.log.error({ job: name, id: job.id }, 'a job without usable data was dropped');
    return;
  }
  const startedAt = performance.now();
  try {
    if (await options.isNeedless(name, parsed.data.tenant)) return;
    const run = options.handlers[name] as (data: unknown, given: JobSignals) => Promise<void>;
    const given = { ...signals, taken: job.attemptsStarted };
    await inTurn(name, job, { data: parsed.data, token, ...options }, () => run(parsed.data, given));
  } catch (error) {
    if (error instanceof DelayedError) throw error;
    if (error instanceof ForAnotherProcess) return await leaveToNext(job, token, HAND_ON_MS);
    const failure = asMirrorError(error);
    if (signals.stop.aborted) return await leaveToNext(job, token, SECOND_MS);
    // Said once, where it is found: the job is for a process with the newer configuration.
    if (failure.code === SUPERSEDED) return await leaveToNext(job, token, LEFT_MS);
    options.log.error(
      { job: name, ...parsed.data, code: failure.code, actor: failure.actor, error: failure },
      'a job failed',
    );
    throw failure;
  } finally {
    options.log.debug(
      { job: name, ...parsed.data, durationMs: Math.round(performance.now() - startedAt) },
      'a job ended',
    );
  }
}

/** Works when there is room; else the job goes back into the queue, with its place kept, and takes nothing here. */
async function inTurn(
  name: JobName,
  job: Job,
  {
    data,
    token,
    sharesOf,
    turns,
  }: Pick<WorkersOptions, 'sharesOf' | 'turns'> & { data: unknown; token?: string | undefined },
  work: () => Promise<void>,
): Promise<void> {
  const shares = await (sharesOf[name] as (given: unknown) => ReturnType<SharesOf[JobName]>)(data);
  let parked = Promise.resolve();
  const call = async () => {
    await parked;
    await job.promote();
  };
  const admission = turns.admit({ work: `${name} ${JSON.stringify(data)}`, job: job.id ?? '', shares, call });
  if (admission.verdict === 'begin') return admission.run(work);
  if (admission.verdict === 'leave') return;
  parked = job.moveToDelayed(Date.now() + PARKED_MS + admission.ahead * PARKED_EACH_MS, token);
  await parked;
  throw new DelayedError();
}

/** What this process can't do is another one's: a hint would be lost else. */
async function leaveToNext(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}
