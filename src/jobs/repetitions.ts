import type { JobsOptions, Queue } from 'bullmq';
import { fnv1a } from '../model/hashes.ts';
import { slices } from '../model/pieces.ts';
import { CLOCK_TOLERANCE_MS, MINUTE_MS } from '../model/time.ts';
import type { RedisClient } from '../state/redis.ts';
import { pauseFor } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import type { IsNeedless, JobName } from './job-catalogue.ts';

const schedules = redisScript<string[]>(import.meta.url, 'schedules');

/** Jobs that repeat per tenant. */
export type RepeatedJob = 'pull' | 'audit' | 'subscriptions' | 'triggers' | 'refresh-tokens';

/** What repeats. */
export interface Repetitions {
  /**
   * Makes `name` repeat for those of these tenants that it would do something for, each at its interval, and for no others. What repeats so
   * already is left as it is; after the first time this costs what differs from the time before.
   */
  repeat(name: RepeatedJob, everyMs: ReadonlyMap<string, number>): Promise<void>;
  /**
   * Puts back what no longer repeats, or was put off by a clock that ran ahead; has it repeat for tenants that it would do something for by now,
   * and no more for those that it would do nothing for.
   * @param overMs time over which the tenants are spread: thousands of looks in one go would make the process grow for good
   * @param signal ends it
   */
  putBack(overMs: number, signal: AbortSignal): Promise<void>;
}

/** A schedule as Redis has it. */
interface Schedule {
  nextAt: number;
  everyMs: number;
}

/** A look at what repeats. */
interface Look {
  name: RepeatedJob;
  everyMs: ReadonlyMap<string, number>;
  /** As of its beginning. */
  there: ReadonlyMap<string, Schedule>;
  /** Those of the tenants so far that the job would do something for. */
  needed: Map<string, number>;
  /** Whether nothing of it failed so far. */
  isWhole: boolean;
}

/** Tenants that are looked at, and schedules that are put, at once. */
const AT_ONCE = 100;

/** Gives the queue of a job. */
export type QueueOf = (name: JobName) => Promise<Queue>;

/** Opens what repeats in the queues. */
export function openRepetitions(
  queueOf: QueueOf,
  connection: () => Promise<RedisClient>,
  isNeedless: IsNeedless,
  options: JobsOptions,
): Repetitions {
  return new QueuedRepetitions(queueOf, connection, isNeedless, options);
}

class QueuedRepetitions implements Repetitions {
  readonly #queueOf: QueueOf;
  readonly #connection: () => Promise<RedisClient>;
  readonly #isNeedless: IsNeedless;
  readonly #options: JobsOptions;
  readonly #wanted = new Map<RepeatedJob, ReadonlyMap<string, number>>();
  /** What was put last, wholly. */
  readonly #done = new Map<RepeatedJob, ReadonlyMap<string, number>>();

  constructor(queueOf: QueueOf, connection: () => Promise<RedisClient>, isNeedless: IsNeedless, options: JobsOptions) {
    this.#queueOf = queueOf;
    this.#connection = connection;
    this.#isNeedless = isNeedless;
    this.#options = options;
  }

  async repeat(name: RepeatedJob, everyMs: ReadonlyMap<string, number>): Promise<void> {
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
      // At once, so that each tenant is looked at once for all of them.
      await Promise.all(looks.map((look) => this.#lookAt(look, tenants)));
      await pauseFor(overMs / pieces.length, signal);
    }
    for (const { name, everyMs, needed, isWhole } of looks) {
      if (isWhole && this.#wanted.get(name) === everyMs && this.#done.has(name)) this.#done.set(name, needed);
    }
  }

  /** The first time: what Redis has may be from another start. */
  async #putAll(name: RepeatedJob, needed: ReadonlyMap<string, number>): Promise<void> {
    const there = await this.#schedulesOf(name);
    const ids = new Set([...needed.keys()].map((tenant) => schedulerId(name, tenant)));
    await this.#end(
      name,
      [...there.keys()].filter((id) => !ids.has(id)),
    );
    const now = Date.now();
    // What came due while nobody was there begins anew at its own moment.
    const isStale = (schedule: Schedule, wantedMs: number) => schedule.everyMs !== wantedMs || schedule.nextAt <= now;
    await this.#putMissing(name, needed, there, isStale);
  }

  async #putDifference(
    name: RepeatedJob,
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

  /** What fails is made up for by the next look. */
  async #lookAt(look: Look, tenants: readonly string[]): Promise<void> {
    const { name, everyMs, there } = look;
    const some = new Map(tenants.flatMap((tenant) => pairOf(everyMs, tenant)));
    try {
      const needed = await this.#needing(name, some);
      // Another configuration was taken up meanwhile: what it wants is put by itself.
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

  async #schedulesOf(name: RepeatedJob): Promise<Map<string, Schedule>> {
    const queue = await this.#queueOf(name);
    const stored = await schedules(await this.#connection(), [queue.toKey('repeat')]);
    return new Map(
      slices(stored, 3).map(([id = '', nextAt, everyMs]) => [id, { nextAt: Number(nextAt), everyMs: Number(everyMs) }]),
    );
  }

  /** Those of the tenants that the job would do something for. */
  async #needing(name: RepeatedJob, everyMs: ReadonlyMap<string, number>): Promise<Map<string, number>> {
    const found: (readonly [string, number])[] = [];
    for (const some of slices([...everyMs], AT_ONCE)) {
      const needless = await Promise.all(some.map(([tenant]) => this.#isNeedless(name, tenant)));
      found.push(...some.filter((_, index) => !needless[index]));
    }
    return new Map(found);
  }

  async #putMissing(
    name: RepeatedJob,
    tenants: Iterable<readonly [tenant: string, everyMs: number]>,
    there: ReadonlyMap<string, Schedule>,
    isStale: (schedule: Schedule, everyMs: number) => boolean,
  ): Promise<void> {
    const queue = await this.#queueOf(name);
    const put = async (tenant: string, everyMs: number): Promise<void> => {
      const id = schedulerId(name, tenant);
      const schedule = there.get(id);
      // A clock that ran ahead when it set the next one has put all of them off until then.
      const isPutOff = schedule !== undefined && schedule.nextAt > Date.now() + everyMs + CLOCK_TOLERANCE_MS;
      if (schedule !== undefined && !isPutOff && !isStale(schedule, everyMs)) return;
      if (isPutOff) await queue.removeJobScheduler(id);
      const every = { every: everyMs, offset: momentOf(`${name}/${tenant}`, everyMs) };
      await queue.upsertJobScheduler(id, every, { name, data: { tenant }, opts: this.#options });
    };
    for (const some of slices([...tenants], AT_ONCE)) {
      await Promise.all(some.map(([tenant, everyMs]) => put(tenant, everyMs)));
    }
  }

  async #end(name: RepeatedJob, ids: readonly string[]): Promise<void> {
    const queue = await this.#queueOf(name);
    for (const some of slices(ids, AT_ONCE)) {
      await Promise.all(some.map((id) => queue.removeJobScheduler(id)));
    }
  }
}

function pairOf(everyMs: ReadonlyMap<string, number>, tenant: string): [string, number][] {
  const wantedMs = everyMs.get(tenant);
  return wantedMs === undefined ? [] : [[tenant, wantedMs]];
}

/** Must not change: a schedule under another id would run beside the old one. Neither part can hold a colon. */
function schedulerId(name: RepeatedJob, tenant: string): string {
  return `${name}-${tenant}`;
}

/** A moment within the interval that is always the same for a name: tenants spread evenly over it. */
function momentOf(name: string, everyMs: number): number {
  return fnv1a(name) % Math.min(everyMs, 60 * MINUTE_MS);
}
