import { DelayedError, type Job, Worker } from 'bullmq';
import { type Logger, type Spans, spanned } from '../core/log/logger.ts';
import { exponentialBackoffMs } from '../core/model/backoff.ts';
import { asMirrorError, redisFaultOf } from '../core/model/errors.ts';
import { SECOND_MS } from '../core/model/time.ts';
import { SUPERSEDED } from '../engine/store.ts';
import { UNCHECKED } from '../settings/configuration.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import type { Processes } from '../state/processes.ts';
import { connectForWorkers, pauseFor, type RedisClient } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import type { DataOf, IsNeedless, JobKind, JobKinds, NameOf } from './job-kinds.ts';
import type { Share, Turns } from './turns.ts';

const freeJobs = redisScript<number>(import.meta.url, 'free-jobs');

/** Signals for a handler, in addition to the job's data. */
interface JobSignals {
  /** Requests an early end between steps. */
  stop: AbortSignal;
  /** Requests an end within a step. */
  abort: AbortSignal;
  /** Number of starts of the job, in any process, including this one. */
  taken: number;
}

/** Handler of each job. */
export type JobHandlers<Kinds extends JobKinds> = {
  [Name in NameOf<Kinds>]: (data: DataOf<Kinds, Name>, signals: JobSignals) => Promise<void>;
};

/**
 * Thrown by a handler whose job belongs to another process: the job returns to the queue until that process takes it. Redis gives jobs to
 * the worker that waited longest, so the job circulates.
 */
export class ForAnotherProcess extends Error {}
/** After this number of returns (two seconds), the intended process no longer exists or is overloaded. */
export const MOST_HAND_ONS = 20;
const HAND_ON_MS = 100;

/** Options of the workers. */
export interface WorkersOptions<Kinds extends JobKinds = JobKinds> {
  redis: RedisLocation;
  kinds: Kinds;
  handlers: JobHandlers<Kinds>;
  /** Maximum running jobs of each kind in this process; most of them wait for answers. */
  inFlight: Record<NameOf<Kinds>, number>;
  sharesOf: SharesOf<Kinds>;
  isNeedless: IsNeedless;
  turns: Turns;
  /** A job whose worker died restarts after one to two of these periods; leases decide when its work may continue. */
  lockMs: number;
  /** Restarts jobs of dead processes immediately. Absent: deaths are not detected. */
  processes?: Pick<Processes, 'addWorker' | 'onDeath'>;
  log: Logger;
  spans: Spans;
}

/** Running workers. */
export interface Workers {
  /** Waits for running jobs for at most `graceMs`, then aborts them. */
  close(graceMs: number): Promise<void>;
}

/** Delay of a job that this process must not run, so that another process can take it. */
const HANDOFF_DELAY_MS = 2 * SECOND_MS;
/** Delay after which a waiting job returns without a call, because this process may have died. More jobs ahead increase the delay. */
const PARKED_MS = 30 * SECOND_MS;
const PARKED_EACH_MS = 10;

/** Starts a worker for each queue. */
export function startWorkers<Kinds extends JobKinds>(options: WorkersOptions<Kinds>): Workers {
  const stop = new AbortController();
  const abort = new AbortController();
  const signals = { stop: stop.signal, abort: abort.signal };
  const connection = connectForWorkers(options.redis);
  const names = Object.keys(options.kinds) as NameOf<Kinds>[];
  const workers = names.map((name) => startWorker(name, options, connection, signals));
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

/** Returns the jobs of dead workers to the queues; BullMQ's own locks and checks would take up to two minutes. */
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

const REFUSED = { firstMs: SECOND_MS, longestMs: 15 * SECOND_MS };

/** BullMQ's worker asks a Redis that refuses a fetch again at once, thousands of times a second. This worker waits. */
class UnhurriedWorker extends Worker {
  #refusals = 0;
  readonly #closed = new AbortController();

  protected override async moveToActive(token: string, name?: string): Promise<Job> {
    try {
      const job = await super.moveToActive(token, name);
      this.#refusals = 0;
      return job;
    } catch (error) {
      if (redisFaultOf(error) !== null) {
        await pauseFor(exponentialBackoffMs(REFUSED, this.#refusals), this.#closed.signal).catch(() => {});
        this.#refusals += 1;
      }
      throw error;
    }
  }

  override async close(force?: boolean): Promise<void> {
    this.#closed.abort();
    await super.close(force);
  }
}

function startWorker<Kinds extends JobKinds>(
  name: NameOf<Kinds>,
  options: WorkersOptions<Kinds>,
  connection: RedisClient,
  signals: Omit<JobSignals, 'taken'>,
): Worker {
  const worker = new UnhurriedWorker(name, (job, token) => handle(name, { job, token }, options, signals), {
    connection,
    // A worker takes no job before other processes can detect its death.
    autorun: options.processes === undefined,
    prefix: QUEUE_PREFIX,
    concurrency: options.inFlight[name],
    lockDuration: options.lockMs,
    // Redis requires whole milliseconds; otherwise jobs of a dead worker would never restart.
    stalledInterval: Math.floor(options.lockMs / 2),
    // A job interrupted by a crash can be repeated any number of times: leases and keys make repetition safe.
    maxStalledCount: 100,
  });
  // Another component reports a Redis outage. A refused command would be unnoticed otherwise, and jobs of dead workers would remain.
  worker.on('error', (error) =>
    options.log[error.name === 'ReplyError' ? 'warn' : 'debug'](
      { job: name, error: asMirrorError(error) },
      'Redis refused a worker',
    ),
  );
  return worker;
}

/** A failed job is retried and never stops the worker. */
async function handle<Kinds extends JobKinds>(
  name: NameOf<Kinds>,
  { job, token }: { job: Job; token: string | undefined },
  options: WorkersOptions<Kinds>,
  signals: Omit<JobSignals, 'taken'>,
): Promise<void> {
  const parsed = (options.kinds[name] as JobKind).data.safeParse(job.data);
  if (!parsed.success) {
    options.log.error({ job: name, id: job.id }, 'job without usable data was dropped');
    return;
  }
  const startedAt = performance.now();
  try {
    if (await options.isNeedless(name, parsed.data.tenant)) return;
    const run = options.handlers[name] as (data: unknown, input: JobSignals) => Promise<void>;
    const input = { ...signals, taken: job.attemptsStarted };
    const sharesOf = options.sharesOf[name] as (data: unknown) => ReturnType<SharesOf<Kinds>[NameOf<Kinds>]>;
    const shares = await sharesOf(parsed.data);
    await inTurn(name, job, { data: parsed.data, token, shares, turns: options.turns }, () =>
      traced(name, job, options.spans, () => run(parsed.data, input)),
    );
  } catch (error) {
    if (error instanceof DelayedError) throw error;
    if (error instanceof ForAnotherProcess) return await leaveToNext(job, token, HAND_ON_MS);
    const failure = asMirrorError(error);
    if (signals.stop.aborted) return await leaveToNext(job, token, SECOND_MS);
    // Logged where it is detected: the job belongs to a process with the newer configuration, or to this process in a few seconds.
    if (failure.code === SUPERSEDED || failure.code === UNCHECKED)
      return await leaveToNext(job, token, HANDOFF_DELAY_MS);
    options.log.error(
      { job: name, ...parsed.data, code: failure.code, actor: failure.actor, error: failure },
      'job failed',
    );
    throw failure;
  } finally {
    options.log.debug(
      { job: name, ...parsed.data, durationMs: Math.round(performance.now() - startedAt) },
      'job ended',
    );
  }
}

/** A job is a span from its admission. A job of another process is no failure. */
async function traced(name: string, job: Job, spans: Spans, work: () => Promise<void>): Promise<void> {
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
      span.addFacts({ 'clinic_mirror.job.handed_on': true });
      return error;
    }
  });
  if (handedOn !== null) throw handedOn;
}

/** Runs the job if capacity is available. Otherwise the job returns to the queue, keeps its position, and uses no capacity. */
async function inTurn(
  name: string,
  job: Job,
  { data, token, shares, turns }: { data: unknown; token: string | undefined; shares: readonly Share[]; turns: Turns },
  work: () => Promise<void>,
): Promise<void> {
  let parked = Promise.resolve();
  const call = async () => {
    await parked;
    await job.promote();
  };
  const admission = turns.admit({ work: `${name} ${JSON.stringify(data)}`, job: job.id ?? '', shares, call });
  if (admission.turn === 'begin') return admission.run(work);
  if (admission.turn === 'leave') return;
  parked = job.moveToDelayed(Date.now() + PARKED_MS + admission.ahead * PARKED_EACH_MS, token);
  await parked;
  throw new DelayedError();
}

/** Returns the job to the queue for another process; a notification would be lost otherwise. */
async function leaveToNext(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

/** Resources of a job, the most specific first. */
export type SharesOf<Kinds extends JobKinds> = {
  [Name in NameOf<Kinds>]: (data: DataOf<Kinds, Name>) => readonly Share[] | Promise<readonly Share[]>;
};
