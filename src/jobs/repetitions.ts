import type { JobsOptions, Queue } from 'bullmq';
import { fnv1a } from '../core/model/hashes.ts';
import { slices } from '../core/model/pieces.ts';
import { CLOCK_TOLERANCE_MS, MINUTE_MS } from '../core/model/time.ts';
import type { RedisClient } from '../state/redis.ts';
import { pauseFor } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import type { IsNeedless, ScheduledJob, Schedules } from './job-kinds.ts';

const schedules = redisScript<string[]>(import.meta.url, 'schedules');

/** Schedules of repeated jobs. */
export interface Repetitions {
  /**
   * Repeats the jobs of a schedule for those of these tenants with work to do, each at its interval. Correct schedules are unchanged; later calls only
   * write the differences from the previous call.
   */
  repeat(name: string, everyMs: ReadonlyMap<string, number>): Promise<void>;
  /**
   * Restores schedules that are lost or were delayed by a clock that ran ahead. Adds tenants that now have work, and removes tenants
   * without work.
   * @param overMs time over which the tenants are spread: thousands of checks at once would increase the process's memory permanently
   * @param signal ends the check
   */
  putBack(overMs: number, signal: AbortSignal): Promise<void>;
}

/** A schedule stored in Redis. */
interface Schedule {
  nextAt: number;
  everyMs: number;
}

/** A check of repeated jobs. */
interface Look {
  name: string;
  everyMs: ReadonlyMap<string, number>;
  /** Schedules at the start of the check. */
  there: ReadonlyMap<string, Schedule>;
  /** Checked tenants with work to do. */
  needed: Map<string, number>;
  /** Whether no step has failed. */
  isWhole: boolean;
}

/** Tenants checked, and schedules written, in one batch. */
const AT_ONCE = 100;

/** Returns the queue of a job. */
export type QueueOf = (name: string) => Promise<Queue>;

/** Dependencies of the schedules. */
export interface RepetitionParts {
  schedules: Schedules;
  queueOf: QueueOf;
  connection(): Promise<RedisClient>;
  isNeedless: IsNeedless;
  /** Options of the jobs. */
  options: JobsOptions;
}

/** Opens the schedules of the queues. */
export function openRepetitions(parts: RepetitionParts): Repetitions {
  return new QueuedRepetitions(parts);
}

class QueuedRepetitions implements Repetitions {
  readonly #parts: RepetitionParts;
  readonly #wanted = new Map<string, ReadonlyMap<string, number>>();
  /** Last schedules written completely. */
  readonly #done = new Map<string, ReadonlyMap<string, number>>();

  constructor(parts: RepetitionParts) {
    this.#parts = parts;
  }

  async repeat(name: string, everyMs: ReadonlyMap<string, number>): Promise<void> {
    this.#wanted.set(name, everyMs);
    const needed = await this.#needing(name, everyMs);
    const before = this.#done.get(name);
    if (before === undefined) await this.#putAll(name, needed);
    else await this.#putDifference(name, before, needed);
    this.#done.set(name, needed);
  }

  async putBack(overMs: number, signal: AbortSignal): Promise<void> {
    const looks = await Promise.all(
      [...this.#wanted].map(async ([name, everyMs]): Promise<Look> => {
        return { name, everyMs, there: await this.#schedulesOf(name), needed: new Map(), isWhole: true };
      }),
    );
    const pieces = slices([...new Set(looks.flatMap(({ everyMs }) => [...everyMs.keys()]))], AT_ONCE);
    for (const tenants of pieces) {
      // In parallel, so that one lookup per tenant serves all jobs.
      await Promise.all(looks.map((look) => this.#lookAt(look, tenants)));
      await pauseFor(overMs / pieces.length, signal);
    }
    for (const { name, everyMs, needed, isWhole } of looks) {
      if (isWhole && this.#wanted.get(name) === everyMs && this.#done.has(name)) this.#done.set(name, needed);
    }
  }

  /** In the first call, Redis may contain schedules of an earlier start. */
  async #putAll(name: string, needed: ReadonlyMap<string, number>): Promise<void> {
    const there = await this.#schedulesOf(name);
    const ids = new Set([...needed.keys()].map((tenant) => schedulerId(name, tenant)));
    await this.#end(
      name,
      [...there.keys()].filter((id) => !ids.has(id)),
    );
    const now = Date.now();
    // A schedule that became due during downtime restarts at its regular offset.
    const isStale = (schedule: Schedule, wantedMs: number) => schedule.everyMs !== wantedMs || schedule.nextAt <= now;
    await this.#putMissing(name, needed, there, isStale);
  }

  async #putDifference(
    name: string,
    before: ReadonlyMap<string, number>,
    needed: ReadonlyMap<string, number>,
  ): Promise<void> {
    const gone = [...before.keys()].filter((tenant) => !needed.has(tenant));
    await this.#end(
      name,
      gone.map((tenant) => schedulerId(name, tenant)),
    );
    const others = [...needed].filter(([tenant, wantedMs]) => before.get(tenant) !== wantedMs);
    await this.#putMissing(name, others, new Map(), () => true);
  }

  /** The next check repeats failed steps. */
  async #lookAt(look: Look, tenants: readonly string[]): Promise<void> {
    const { name, everyMs, there } = look;
    const some = new Map(tenants.flatMap((tenant) => pairOf(everyMs, tenant)));
    try {
      const needed = await this.#needing(name, some);
      // The configuration changed meanwhile: its schedules are written separately.
      if (this.#wanted.get(name) !== everyMs) return;
      const needless = [...some.keys()].filter((tenant) => !needed.has(tenant));
      await this.#end(
        name,
        needless.map((tenant) => schedulerId(name, tenant)).filter((id) => there.has(id)),
      );
      await this.#putMissing(name, needed, there, () => false);
      for (const [tenant, wantedMs] of needed) look.needed.set(tenant, wantedMs);
    } catch {
      look.isWhole = false;
    }
  }

  async #schedulesOf(name: string): Promise<Map<string, Schedule>> {
    const queue = await this.#parts.queueOf(this.#jobsOf(name).job);
    const stored = await schedules(await this.#parts.connection(), [queue.toKey('repeat')]);
    const ours = slices(stored, 3).filter(([id]) => id?.startsWith(schedulerId(name, '')));
    return new Map(
      ours.map(([id = '', nextAt, everyMs]) => [id, { nextAt: Number(nextAt), everyMs: Number(everyMs) }]),
    );
  }

  /** Returns the tenants for which the job has work. */
  async #needing(name: string, everyMs: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const found: (readonly [string, number])[] = [];
    for (const some of slices([...everyMs], AT_ONCE)) {
      const needless = await Promise.all(
        some.map(([tenant]) => this.#parts.isNeedless(this.#jobsOf(name).job, tenant)),
      );
      found.push(...some.filter((_, index) => !needless[index]));
    }
    return new Map(found);
  }

  async #putMissing(
    name: string,
    tenants: Iterable<readonly [tenant: string, everyMs: number]>,
    there: ReadonlyMap<string, Schedule>,
    isStale: (schedule: Schedule, everyMs: number) => boolean,
  ): Promise<void> {
    const { job, data } = this.#jobsOf(name);
    const queue = await this.#parts.queueOf(job);
    const put = async (tenant: string, everyMs: number): Promise<void> => {
      const id = schedulerId(name, tenant);
      const schedule = there.get(id);
      // A clock that ran ahead may have set the next time too late.
      const isPutOff = schedule !== undefined && schedule.nextAt > Date.now() + everyMs + CLOCK_TOLERANCE_MS;
      if (schedule !== undefined && !isPutOff && !isStale(schedule, everyMs)) return;
      if (isPutOff) await queue.removeJobScheduler(id);
      const every = { every: everyMs, offset: momentOf(`${name}/${tenant}`, everyMs) };
      await queue.upsertJobScheduler(id, every, { name: job, data: { tenant, ...data }, opts: this.#parts.options });
    };
    for (const some of slices([...tenants], AT_ONCE)) {
      await Promise.all(some.map(([tenant, everyMs]) => put(tenant, everyMs)));
    }
  }

  #jobsOf(name: string): ScheduledJob {
    const jobs = this.#parts.schedules[name];
    if (jobs === undefined) throw new Error(`there is no schedule "${name}"`);
    return jobs;
  }

  async #end(name: string, ids: readonly string[]): Promise<void> {
    const queue = await this.#parts.queueOf(this.#jobsOf(name).job);
    for (const some of slices(ids, AT_ONCE)) {
      await Promise.all(some.map((id) => queue.removeJobScheduler(id)));
    }
  }
}

function pairOf(everyMs: ReadonlyMap<string, number>, tenant: string): [string, number][] {
  const wantedMs = everyMs.get(tenant);
  return wantedMs === undefined ? [] : [[tenant, wantedMs]];
}

/** Must remain constant: a schedule with another id would run in addition to the old one. Neither part can contain a colon. */
function schedulerId(name: string, tenant: string): string {
  return `${name}-${tenant}`;
}

/** Returns a constant offset within the interval for a name: tenants are spread evenly. */
function momentOf(name: string, everyMs: number): number {
  return fnv1a(name) % Math.min(everyMs, 60 * MINUTE_MS);
}
