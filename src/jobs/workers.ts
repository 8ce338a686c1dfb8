import { DelayedError, type Job, Worker } from 'bullmq';
import type { Logger } from '../log/logger.ts';
import { type Spans, spanned } from '../log/spans.ts';
import { asMirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { UNCHECKED } from '../settings/configuration.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import { SUPERSEDED } from '../state/config-version.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import type { Processes } from '../state/processes.ts';
import { connectForWorkers, type RedisClient } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import { JOBS, type JobData, type JobName } from './catalogue.ts';
import type { IsNeedless } from './needless.ts';
import type { SharesOf } from './shares.ts';
import type { Turns } from './turns.ts';

const freeJobs = redisScript<number>(import.meta.url, 'free-jobs');

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
  redis: RedisLocation;
  handlers: JobHandlers;
  /** Turns of each kind that may be under way in this process at once; nearly all of them wait for answers. */
  inFlight: Record<JobName, number>;
  sharesOf: SharesOf;
  isNeedless: IsNeedless;
  turns: Turns;
  /** A job whose worker died is taken up again after one to two of these; the leases decide when its work may go on. */
  lockMs: number;
  /** Jobs of workers whose process has died are taken up at once. Absent: nobody's death is known. */
  processes?: Pick<Processes, 'addWorker' | 'onDeath'>;
  log: Logger;
  spans: Spans;
}

/** Running workers. */
export interface Workers {
  /** Lets what runs come to an end, for at most `graceMs`, then breaks it off. */
  close(graceMs: number): Promise<void>;
}

const NAMES = Object.keys(JOBS) as JobName[];
/** After so long a job is tried again that this process must not do: another one may take it then. */
const HANDOFF_DELAY_MS = 2 * SECOND_MS;
/** A job that waits for room comes back by itself after this time, and later the more are ahead: this process may have died. */
const PARKED_MS = 30 * SECOND_MS;
const PARKED_EACH_MS = 10;

/** Starts a worker for each queue. */
export function startWorkers(options: WorkersOptions): Workers {
  const stop = new AbortController();
  const abort = new AbortController();
  const signals = { stop: stop.signal, abort: abort.signal };
  const connection = connectForWorkers(options.redis);
  const workers = NAMES.map((name) => startWorker(name, options, connection, signals));
  if (options.processes !== undefined) followDeaths(workers, connection, options.processes, options.log);
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

/** What dead workers were at goes back into the queues; locks and looks of BullMQ would take up to two minutes. */
function followDeaths(
  workers: readonly Worker[],
  connection: RedisClient,
  processes: Pick<Processes, 'addWorker' | 'onDeath'>,
  log: Logger,
): void {
  const logFailure = (error: unknown) =>
    log.warn({ error: asMirrorError(error) }, 'jobs of a dead process wait for their locks');
  processes.onDeath(async (dead) => {
    if (dead.length === 0) return;
    await Promise.all(workers.map((worker) => takeUp(worker, connection, dead))).catch(logFailure);
  });
  const run = (worker: Worker) => {
    if (worker.closing === undefined) worker.run().catch((error) => worker.emit('error', error));
  };
  Promise.all(workers.map(({ id }) => processes.addWorker(id)))
    .catch(logFailure)
    .finally(() => workers.forEach(run));
}

async function takeUp(worker: Worker, connection: RedisClient, dead: readonly string[]): Promise<void> {
  const keyOf = (name: string) => worker.toKey(name);
  const named = [keyOf('active'), keyOf('stalled'), keyOf('stalled-check')];
  if ((await freeJobs(connection, named, [keyOf(''), ...dead])) > 0) await worker.startStalledCheckTimer();
}

function startWorker(
  name: JobName,
  options: WorkersOptions,
  connection: RedisClient,
  signals: Omit<JobSignals, 'taken'>,
): Worker {
  const worker = new Worker(name, (job, token) => handle(name, { job, token }, options, signals), {
    connection,
    // Before it takes a job, others can learn of its death.
    autorun: options.processes === undefined,
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
  { job, token }: { job: Job; token: string | undefined },
  options: WorkersOptions,
  signals: Omit<JobSignals, 'taken'>,
): Promise<void> {
  const parsed = JOBS[name].data.safeParse(job.data);
  if (!parsed.success) {
    options.log.error({ job: name, id: job.id }, 'a job without usable data was dropped');
    return;
  }
  const startedAt = performance.now();
  try {
    if (await options.isNeedless(name, parsed.data.tenant)) return;
    const run = options.handlers[name] as (data: unknown, input: JobSignals) => Promise<void>;
    const input = { ...signals, taken: job.attemptsStarted };
    await inTurn(name, job, { data: parsed.data, token, ...options }, () =>
      traced(name, job, options.spans, () => run(parsed.data, input)),
    );
  } catch (error) {
    if (error instanceof DelayedError) throw error;
    if (error instanceof ForAnotherProcess) return await leaveToNext(job, token, HAND_ON_MS);
    const failure = asMirrorError(error);
    if (signals.stop.aborted) return await leaveToNext(job, token, SECOND_MS);
    // Said once, where it is found: the job is for a process with the newer configuration, or for this one in some seconds.
    if (failure.code === SUPERSEDED || failure.code === UNCHECKED)
      return await leaveToNext(job, token, HANDOFF_DELAY_MS);
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

/** A job is a span from when its turn begins. That it is another process's is no failure of it. */
async function traced(name: JobName, job: Job, spans: Spans, work: () => Promise<void>): Promise<void> {
  const { tenant, target }: { tenant: string; target?: string } = job.data;
  const parent = job.opts.telemetry?.metadata ?? null;
  const facts = {
    'clinic_mirror.tenant': tenant,
    'clinic_mirror.target': target,
    'clinic_mirror.job.taken': job.attemptsStarted,
  };
  const handedOn = await spanned(spans, `job ${name}`, { kind: 'consumer', parent, facts }, async (span) => {
    try {
      await work();
      return null;
    } catch (error) {
      if (!(error instanceof ForAnotherProcess)) throw error;
      span.tell({ 'clinic_mirror.job.handed_on': true });
      return error;
    }
  });
  if (handedOn !== null) throw handedOn;
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
  const shares = await (sharesOf[name] as (input: unknown) => ReturnType<SharesOf[JobName]>)(data);
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
