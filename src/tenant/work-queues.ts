import { type Logger, noSpans, type Spans } from '../core/log/logger.ts';
import { slices } from '../core/model/pieces.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { type IsNeedless, neverNeedless } from '../jobs/job-kinds.ts';
import { type Alarms, openQueues, type ShownQueue } from '../jobs/queues.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import type { RedisLocation } from '../settings/redis-schema.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { JOBS, type JobData, type JobName, SCHEDULES } from './job-catalogue.ts';

/** Schedules the work on tenants for the workers of all replicas. */
export interface WorkQueues {
  /** Repeats a schedule's jobs for those of these tenants with work to do, at their interval. */
  repeat(schedule: keyof typeof SCHEDULES, everyMs: ReadonlyMap<string, number>): Promise<void>;
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
  reminderAlarms(tenant: string, clock: Clock): Alarms;
  /** Returns waiting, running and failed jobs of every queue, with up to `jobs` of each state listed. */
  show(jobs: number): Promise<ShownQueue[]>;
  close(): Promise<void>;
}

/**
 * Opens the queues to add work; this process runs no jobs.
 * @param checkEveryMs interval of checks of repeated jobs; a minute if absent
 */
export function openWorkQueues(
  redis: RedisLocation,
  isNeedless: IsNeedless = neverNeedless,
  checkEveryMs?: number,
  spans: Spans = noSpans,
): WorkQueues {
  const check = checkEveryMs === undefined ? {} : { checkEveryMs };
  const queues = openQueues({ redis, names: Object.keys(JOBS), schedules: SCHEDULES, isNeedless, spans, ...check });
  const add = <Name extends JobName>(job: Name, data: JobData<Name>, request: Parameters<typeof queues.add>[2]) =>
    queues.add(job, data, request);
  return {
    repeat: (schedule, everyMs) => queues.repeat(schedule, everyMs),
    pullNow: (tenant, delayMs = 0) => add('pull', { tenant, asked: true }, { once: tenant, delayMs, reschedule: true }),
    readStreams: (tenant) => add('read-streams', { tenant }, { once: tenant, reschedule: true }),
    wake: (tenant, target, delayMs) =>
      add('push', { tenant, target }, { once: `${tenant}/${target}`, delayMs, reschedule: true }),
    checkTarget(tenant, target, { delayMs, whole = false, once = false, changesOnly = false }) {
      const name = `${tenant}/${target}${whole ? '/whole' : ''}${once ? '/once' : ''}${changesOnly ? '/changes' : ''}`;
      const data = { tenant, target, whole, once, ...(changesOnly && { changesOnly }) };
      return add('check-target', data, { once: name, delayMs });
    },
    renewSubscriptions: (tenant, { delayMs = 0, hurry = false } = {}) =>
      add('subscriptions', { tenant, hurry }, { once: `${tenant}${hurry ? '/hurry' : ''}`, delayMs }),
    wakeTriggers(tenant, delayMs, { read }) {
      const once = `${tenant}${read ? '/read' : ''}`;
      return add('triggers', { tenant, retry: !read }, { once, delayMs, reschedule: true });
    },
    reminderAlarms: (tenant, clock) => queues.alarms({ job: 'remind', field: 'reminder' }, tenant, clock),
    show: (jobs) => queues.show(jobs),
    close: () => queues.close(),
  };
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
