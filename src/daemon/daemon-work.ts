import { setTimeout as pause } from 'node:timers/promises';
import type { Logger, Spans } from '../core/log/logger.ts';
import { SECOND_MS } from '../core/model/time.ts';
import { clearTriggersIn } from '../features/triggers/store.ts';
import type { Turns } from '../jobs/turns.ts';
import { startWorkers, type Workers } from '../jobs/workers.ts';
import type { Installation } from '../operator/control/installation.ts';
import type { Metrics } from '../operator/control/metrics.ts';
import { resumeTargets } from '../operator/control/resume.ts';
import { does, type Role } from '../operator/control/roles.ts';
import type { Statuses } from '../operator/control/statuses.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import type { ConfigurationFiles } from '../settings/configuration-files.ts';
import { JOBS } from '../tenant/job-catalogue.ts';
import { sharesOf } from '../tenant/job-shares.ts';
import type { Releasing } from '../tenant/release.ts';
import { beginWork, repeatWork, type WorkQueues } from '../tenant/work-queues.ts';
import type { Composition } from './compose.ts';
import { jobHandlers } from './job-handlers.ts';
import { type Reloading, startReloading } from './reload.ts';
import { startAlerting, startForecasts, startReleasing } from './upkeep.ts';

/**
 * Work in progress may continue for this time after the signal to end, plus one second for the abort. Ports and connections then have a
 * second each: a container engine kills after ten seconds.
 */
const STOP_GRACE_MS = 5 * SECOND_MS;
/**
 * Parallel jobs by kind. The numbers are high because jobs mostly wait for answers, and the CPU work uses one thread. Each job takes some
 * hundred kilobytes of memory.
 */
const IN_FLIGHT = {
  ...{ pull: 128, 'read-streams': 64, audit: 8, 'check-target': 64, subscriptions: 32 },
  ...{ remind: 128, triggers: 64, 'refresh-tokens': 32 },
};

/** Running work of a daemon. */
interface RunningWork {
  /** Null without configuration reloads. */
  reloading: Reloading | null;
  /** Ends all work within six seconds. The next start resumes unfinished work. */
  end(): Promise<void>;
}

/** Opens the work of a role: workers, schedules, maintenance and configuration reloads. */
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
      // In parallel, so that a check of an unreachable Redis takes no time from the work.
      const ends = [workers?.close(STOP_GRACE_MS), end(), reloading?.end(), upkeep?.end()];
      const isEnded = await within(STOP_GRACE_MS + SECOND_MS, ends);
      if (!isEnded) composition.log.warn({}, 'daemon stopped during work: the work continues after the next startup');
    },
  };
}

/** Waits for all work up to a time limit. @returns whether the work ended */
export async function within(longestMs: number, work: readonly (Promise<unknown> | undefined)[]): Promise<boolean> {
  return Promise.race([Promise.all(work).then(() => true), pause(longestMs, false, { ref: false })]);
}

/** Queues all start-up jobs. @returns an object that stops the queueing */
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
 * Scheduler tasks for all tenants together. Begin only after all tenants are checked: an unchecked tenant would otherwise appear removed or
 * without problems.
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

  /** Begins unless already begun or ended. */
  begin(): void {
    if (this.#isEnded || this.#releasing !== null) return;
    this.#releasing = startReleasing(this.#composition);
    this.#stops = [startAlerting(this.#composition, this.#statuses), startForecasts(this.#composition)];
  }

  /** Releases the resources of removed tenants and targets. */
  release(): void {
    this.#releasing?.check();
  }

  async end(): Promise<void> {
    this.#isEnded = true;
    await Promise.all([this.#releasing?.end(), ...this.#stops.map((stop) => stop())]);
  }
}

/**
 * Applies configuration changes to the work: schedules, cycles of changed tenants, and removals. @param maintenance null if in another process
 */
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
      // Ends the schedules of all other tenants.
      if (unchecked.size === 0) await repeatWork({ tenants: [...outlines.values()], queues }, settings.schedule);
      const tenants = some.map(([, outline]) => outline);
      await beginWork({ tenants, queues, clearTriggers: clearTriggersIn(redis), isNeedless, log }, signal);
      await wakeAfterChange(composition, [...changed, ...reopened]);
      if (unchecked.size === 0) upkeep.begin();
      // Only after a removal, because a check lists all Redis keys.
      if (removed.length + reduced.length > 0) upkeep.release();
    },
  });
}

function openWorkers(composition: Composition, turns: Turns, spans: Spans): Workers {
  const { settings } = composition.configuration;
  const inFlight = { ...IN_FLIGHT, push: settings.push.targetConcurrency };
  return startWorkers({
    kinds: JOBS,
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

/** Logs which sensitive fields CRMs receive, with the stated reasons. */
export function logAllowances(outlines: Iterable<readonly [string, TenantOutline]>, log: Logger): void {
  for (const [tenant, { sensitive }] of outlines) {
    for (const { target, field, reason } of sensitive) {
      log.info({ tenant, target, field, reason }, 'sensitive field is mapped');
    }
  }
}

/**
 * Runs jobs that waited for an administrator, after a change of configuration or secret, as after a new connection. A refused password is
 * therefore reported only until the correct one is applied.
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
