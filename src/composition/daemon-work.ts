import { setTimeout as pause } from 'node:timers/promises';
import type { Installation } from '../control/installation.ts';
import type { Metrics } from '../control/metrics.ts';
import { resumeTargets } from '../control/resume.ts';
import { does, type Role } from '../control/roles.ts';
import type { Statuses } from '../control/statuses.ts';
import { clearTriggersIn } from '../features/triggers/store.ts';
import type { WorkQueues } from '../jobs/queues.ts';
import { beginWork, repeatWork } from '../jobs/queues.ts';
import type { Releasing } from '../jobs/release.ts';
import type { Turns } from '../jobs/turns.ts';
import { sharesOf, startWorkers, type Workers } from '../jobs/workers.ts';
import type { Logger, Spans } from '../log/logger.ts';
import { SECOND_MS } from '../model/time.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import type { Composition } from './compose.ts';
import { jobHandlers } from './job-handlers.ts';
import { type Reloading, startReloading } from './reload.ts';
import { startAlerting, startForecasts, startReleasing } from './upkeep.ts';

/**
 * What is under way may go on for this long after the signal to end, and has a second more to be broken off. Ports and connections have a
 * second each after it: a container engine kills after ten seconds.
 */
const STOP_GRACE_MS = 5 * SECOND_MS;
/**
 * Turns of each kind under way at once. They are many, since they wait for answers most of the time, and work is one thread's: what they
 * take is memory, some hundred kilobytes each.
 */
const IN_FLIGHT = {
  ...{ pull: 128, 'read-streams': 64, audit: 8, 'check-target': 64, subscriptions: 32 },
  ...{ remind: 128, triggers: 64, 'refresh-tokens': 32 },
};

/** The work of a daemon while it runs. */
interface RunningWork {
  /** Null where nothing follows the configuration. */
  reloading: Reloading | null;
  /** Ends all of it within six seconds. What is not ended by then is taken up again at the next start. */
  end(): Promise<void>;
}

/** Opens the work of a role: workers, schedules, upkeep, and what follows the configuration. */
export function openWork(parts: {
  composition: Composition;
  role: Role;
  files: ConfigurationFiles | undefined;
  metrics: Metrics;
  statuses: Statuses;
  turns: Turns;
  spans: Spans;
  work: Parameters<typeof beginWork>[0];
}): RunningWork {
  const { composition, role, files, metrics, statuses, turns, spans, work } = parts;
  const workers = does(role, 'worker') ? openWorkers(composition, turns, spans) : null;
  const { end } = begin(work, role);
  const upkeep = does(role, 'scheduler') ? new Upkeep(composition, statuses) : null;
  if (composition.configuration.unchecked.size === 0) upkeep?.begin();
  const reloading = files === undefined ? null : openReloading({ files, composition, metrics, upkeep });
  return {
    reloading,
    async end() {
      // Side by side: a look at a Redis that just went away takes no time from the work.
      const ends = [workers?.close(STOP_GRACE_MS), end(), reloading?.end(), upkeep?.end()];
      const isEnded = await within(STOP_GRACE_MS + SECOND_MS, ends);
      if (!isEnded) composition.log.warn({}, 'work was left under way: it is taken up again at the next start');
    },
  };
}

/** Waits for all of some work, for at most so long. @returns whether it ended */
export async function within(longestMs: number, work: readonly (Promise<unknown> | undefined)[]): Promise<boolean> {
  return Promise.race([Promise.all(work).then(() => true), pause(longestMs, false, { ref: false })]);
}

/** Asks for all that a start asks for. @returns ends the asking */
function begin(work: Parameters<typeof beginWork>[0], role: Role): { end(): Promise<void> } {
  const asking = new AbortController();
  const begun = does(role, 'scheduler') ? beginWork(work, asking.signal) : Promise.resolve();
  return {
    end() {
      asking.abort();
      return begun;
    },
  };
}

/**
 * What a scheduler does for all tenants together. It begins when all are checked: before that a tenant that is not checked yet would be one
 * that was removed, or whose problems are over.
 */
class Upkeep {
  readonly #composition: Composition;
  readonly #statuses: Statuses;
  #releasing: Releasing | null = null;
  #stops: (() => Promise<void>)[] = [];
  #isEnded = false;

  constructor(composition: Composition, statuses: Statuses) {
    this.#composition = composition;
    this.#statuses = statuses;
  }

  /** Begins, unless it has begun or ended. */
  begin(): void {
    if (this.#isEnded || this.#releasing !== null) return;
    this.#releasing = startReleasing(this.#composition);
    this.#stops = [startAlerting(this.#composition, this.#statuses), startForecasts(this.#composition)];
  }

  /** Releases what was removed. */
  release(): void {
    this.#releasing?.check();
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all([this.#releasing?.end(), ...this.#stops.map((stop) => stop())]);
  }
}

/** Work follows the configuration: schedules, a cycle of what changed, and what was taken out. @param upkeep null: another process's */
function openReloading(parts: {
  files: ConfigurationFiles;
  composition: Composition;
  metrics: Metrics;
  upkeep: Upkeep | null;
}): Reloading {
  const { files, composition, metrics, upkeep } = parts;
  const { log, queues, redis, isNeedless } = composition;
  return startReloading({
    ...{ files, composition, log, observe: metrics.observeReload },
    async onTakenUp({ added, changed, reopened, removed, reduced }, signal) {
      const { outlines, settings, unchecked } = composition.configuration;
      const others = new Set([...added, ...changed]);
      const some = [...outlines].filter(([id]) => others.has(id));
      logAllowances(some, log);
      if (upkeep === null) return;
      // What repeats for no tenant of these ends.
      if (unchecked.size === 0) await repeatWork({ tenants: [...outlines.values()], queues }, settings.schedule);
      const tenants = some.map(([, outline]) => outline);
      await beginWork({ tenants, queues, clearTriggers: clearTriggersIn(redis), isNeedless, log }, signal);
      await wakeAfterChange(composition, [...changed, ...reopened]);
      if (unchecked.size === 0) upkeep.begin();
      // A look reads the names of all keys.
      if (removed.length + reduced.length > 0) upkeep.release();
    },
  });
}

function openWorkers(composition: Composition, turns: Turns, spans: Spans): Workers {
  const { settings } = composition.configuration;
  const inFlight = { ...IN_FLIGHT, push: settings.push.targetConcurrency };
  return startWorkers({
    redis: settings.redis.place.reveal(),
    handlers: jobHandlers(composition),
    inFlight,
    sharesOf: sharesOf(composition.installation.tenants, inFlight),
    isNeedless: composition.isNeedless,
    turns,
    lockMs: settings.leases.ttlMs,
    processes: composition.processes,
    log: composition.log,
    spans,
  });
}

/** Whoever reads the log knows which sensitive fields a CRM is told, and on what ground. */
export function logAllowances(outlines: Iterable<readonly [string, TenantOutline]>, log: Logger): void {
  for (const [tenant, { sensitive }] of outlines) {
    for (const { target, field, reason } of sensitive) {
      log.info({ tenant, target, field, reason }, 'a sensitive field is mapped');
    }
  }
}

/**
 * Tenants have another configuration, or another secret behind the same one: what waited there for a person has its next try now, as after a
 * login. So a refused password is told no longer than until the right one is taken up.
 */
export async function wakeAfterChange(
  {
    installation,
    queues,
  }: { installation: Pick<Installation, 'tenants'>; queues: Pick<WorkQueues, 'wake' | 'pullNow'> },
  tenants: readonly string[],
): Promise<void> {
  for (const id of tenants) {
    const tenant = installation.tenants.get(id);
    if (tenant === undefined || tenant.configuration.paused) continue;
    for (const target of await resumeTargets(tenant)) await queues.wake(id, target, 0);
    const [last] = await tenant.runs.list(1);
    if (last?.error?.actor === 'authorization' || last?.error?.actor === 'settings') await queues.pullNow(id);
  }
}
