import { DelayedError, type Job, Worker } from 'bullmq';
import { type Logger, type Spans, spanned } from '../log/logger.ts';
import { asMirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { UNCHECKED } from '../settings/configuration.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import { SUPERSEDED } from '../state/config-version.ts';
import { QUEUE_PREFIX } from '../state/keys.ts';
import type { Processes } from '../state/processes.ts';
import { connectForWorkers, type RedisClient } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import { type IsNeedless, JOBS, type JobData, type JobName } from './job-catalogue.ts';
import type { OpenTenant } from './tenant.ts';
import type { Share, Turns } from './turns.ts';

const freeJobs = redisScript<number>(import.meta.url, 'free-jobs');

/** What a handler is told beside the data of its job. */
interface JobSignals {
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
      span.addFacts({ 'clinic_mirror.job.handed_on': true });
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
  if (admission.turn === 'begin') return admission.run(work);
  if (admission.turn === 'leave') return;
  parked = job.moveToDelayed(Date.now() + PARKED_MS + admission.ahead * PARKED_EACH_MS, token);
  await parked;
  throw new DelayedError();
}

/** What this process can't do is another one's: a hint would be lost else. */
async function leaveToNext(job: Job, token: string | undefined, delayMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + delayMs, token);
  throw new DelayedError();
}

/** What a job's turn takes from, the narrowest share first. */
export type SharesOf = { [Name in JobName]: (data: JobData<Name>) => readonly Share[] | Promise<readonly Share[]> };

/** One client, vendor or kind of gateway takes at most half of the turns of a kind, so that the others have the rest. */
const HALF = 2;
/** Tenants of one client that wait for its budget: more of them would only hold what they read for longer. */
const IN_LINE_PER_CLIENT = 4;
/** Targets of one login that are written to, or checked, at once. */
const PER_CONNECTION = 4;
/** Reminders of one channel of a tenant that are handed over at once. */
const PER_CHANNEL = 8;
/** What is read whole is held in memory: so many readings that are known to be longer than this are under way at once. */
const LARGE = 20_000;
const LARGE_AT_ONCE = 4;
/** Cycles that are looked through for one that tells how large a tenant is; those that failed don't. */
const RUNS_LOOKED_AT = 5;

/** The shares that keep one tenant, clinic client, vendor or gateway from taking the turns of all others. */
export function sharesOf(
  tenants: {
    get(id: string): Pick<OpenTenant, 'configuration' | 'id' | 'links' | 'reminders' | 'runs' | 'targets'> | undefined;
  },
  inFlight: Record<JobName, number>,
): SharesOf {
  const half = (kind: JobName, name: string): Share => ({ name: `${kind} ${name}`, most: inFlight[kind] / HALF });
  const ofClient = (kind: JobName, tenant: Pick<OpenTenant, 'configuration'>) =>
    half(kind, `client ${tenant.configuration.clinic.client}`);
  const ofTarget = (kind: 'push' | 'check-target', tenant: Pick<OpenTenant, 'id' | 'targets'>, id: string): Share[] => {
    const target = tenant.targets.get(id)?.configuration;
    if (target === undefined) return [];
    const login = { name: `${kind} connection ${tenant.id}/${target.connection}`, most: PER_CONNECTION };
    return [login, half(kind, `vendor ${target.connector}`)];
  };
  const ofReading = async (kind: 'pull' | 'read-streams', id: string): Promise<Share[]> => {
    const tenant = tenants.get(id);
    if (tenant === undefined) return [];
    const read = (await lastRead(tenant, 1)) ?? (await lastRead(tenant, RUNS_LOOKED_AT));
    return [...large(kind, read?.records ?? 0), { ...ofClient(kind, tenant), mostInLine: IN_LINE_PER_CLIENT }];
  };
  return {
    pull: ({ tenant }) => ofReading('pull', tenant),
    'read-streams': ({ tenant }) => ofReading('read-streams', tenant),
    push({ tenant: id, target }) {
      const tenant = tenants.get(id);
      return tenant === undefined ? [] : ofTarget('push', tenant, target);
    },
    async 'check-target'({ tenant: id, target }) {
      const tenant = tenants.get(id);
      if (tenant === undefined) return [];
      return [...large('check-target', await tenant.links.count(target)), ...ofTarget('check-target', tenant, target)];
    },
    async remind({ tenant: id, reminder }) {
      const tenant = tenants.get(id);
      const channel = (await tenant?.reminders?.ledger.read(reminder))?.channel;
      if (tenant === undefined || channel === undefined) return [];
      const kind = tenant.configuration.reminders?.channels.get(channel)?.kind ?? 'gone';
      const own = { name: `remind channel ${id}/${channel}`, most: PER_CHANNEL };
      return [own, ofClient('remind', tenant), half('remind', `gateway ${kind}`)];
    },
    triggers({ tenant: id }) {
      const tenant = tenants.get(id);
      return tenant === undefined ? [] : [ofClient('triggers', tenant)];
    },
    // Each of these asks for one tenant at a time.
    audit: () => [],
    subscriptions: () => [],
    'refresh-tokens': () => [],
  };
}

async function lastRead({ runs }: Pick<OpenTenant, 'runs'>, limit: number) {
  return (await runs.list(limit)).find(({ snapshot }) => snapshot !== null)?.snapshot ?? null;
}

function large(kind: JobName, records: number): Share[] {
  return records > LARGE ? [{ name: `${kind} large`, most: LARGE_AT_ONCE }] : [];
}
