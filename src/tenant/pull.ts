import { type OpenSpan, type SpanFacts, spanned } from '../core/log/logger.ts';
import { asMirrorError, type MirrorError } from '../core/model/errors.ts';
import type { Progress } from '../core/model/tasks.ts';
import { DAY_MS } from '../core/model/time.ts';
import { reportRun } from '../domain/run-report.ts';
import { type RunReport, runIdOf } from '../domain/runs.ts';
import { findDueStreams, readStreams } from '../domain/streams.ts';
import { commitCycle } from '../engine/commit.ts';
import { planCycle } from '../engine/cycle.ts';
import { endImpossibleWaits } from '../engine/lane.ts';
import { activeTargets } from '../engine/ports.ts';
import type { Lease } from '../engine/store.ts';
import { SUPERSEDED } from '../engine/store.ts';
import { message } from '../messages/message.ts';
import { PLAN_LEASE, STREAMS_LEASE } from '../state/config-version.ts';
import { waitForLease } from '../state/leases.ts';
import { fencedError } from '../state/script.ts';
import type { OpenTenant, TenantCycle } from './tenant.ts';

/** How long a rejection prevents a new hold of the same records. */
const REJECTION_MS = 7 * DAY_MS;

/**
 * Runs one cycle of a tenant: pull, compare, plan, guard, and add the changes to the outboxes. One cycle at a time per tenant.
 * @param options.asked a caller knows of new data: the read is full at any pace, and the cycle is repeated if it cannot start
 * @param options.wake receives each target with new writes, before the cycle ends
 * @returns the report, with the error if the clinic was unreadable; null while another cycle runs, or after a lost lease, which is no
 * failure of the clinic
 */
export async function pullTenant(
  tenant: OpenTenant,
  signal: AbortSignal,
  { asked = false, wake = noWake }: { asked?: boolean; wake?: (target: string) => Promise<void> } = {},
): Promise<RunReport | null> {
  const lease = await tenant.leases.tryTake(PLAN_LEASE, asked ? 'pull' : undefined);
  if (lease === null) return null;
  try {
    return await underLease(tenant, lease, { progress: () => {}, isPaced: !asked, justRead: false, wake }, signal);
  } catch (error) {
    if (asMirrorError(error).code === 'lease-lost') return null;
    throw error;
  }
}

/**
 * Runs a full cycle after the current one.
 * @param progress receives the steps and the reasons for waiting
 * @param options.justRead the CRMs' additional streams were just read
 * @throws the error of `options.refusalOf`; MirrorError `conflict`, code `lease-lost`
 */
export async function pullWhenFree(
  tenant: OpenTenant,
  progress: Progress,
  signal: AbortSignal,
  { justRead = false, refusalOf }: { justRead?: boolean; refusalOf?: RefusalOf | undefined } = {},
): Promise<RunReport> {
  const lease = await waitForLease(
    tenant.leases,
    PLAN_LEASE,
    { what: message('step.wait.cycle'), report: progress },
    signal,
  );
  return underLease(tenant, lease, { progress, isPaced: false, justRead, refusalOf, wake: noWake }, signal);
}

/**
 * Checks a plan before its commit.
 * @returns the reason to refuse the plan, or null
 */
export type RefusalOf = (cycle: TenantCycle) => MirrorError | null;

interface CycleOptions {
  progress: Progress;
  isPaced: boolean;
  justRead: boolean;
  refusalOf?: RefusalOf | undefined;
  wake(target: string): Promise<void>;
}

/** The caller of the cycle writes the result itself. */
async function noWake(): Promise<void> {}

function underLease(tenant: OpenTenant, lease: Lease, options: CycleOptions, signal: AbortSignal): Promise<RunReport> {
  return spanned(tenant.spans, 'cycle', { facts: { 'clinic_mirror.tenant': tenant.id } }, (span) =>
    tenant.outages.watch(() => runCycle(tenant, lease, { ...options, span }, signal)),
  );
}

async function runCycle(
  tenant: OpenTenant,
  lease: Lease,
  { progress, isPaced, justRead, refusalOf, wake, span }: CycleOptions & { span: OpenSpan },
  signal: AbortSignal,
): Promise<RunReport> {
  const startedAt = tenant.clock();
  let refusal: MirrorError | null = null;
  try {
    const guarded = AbortSignal.any([signal, lease.signal]);
    const now = tenant.clock();
    for (const hold of await tenant.holds.expire(now, now + REJECTION_MS)) {
      tenant.log.warn(
        { hold: hold.id, target: hold.target, kind: hold.kind },
        'hold expired without a decision: nothing was removed',
      );
    }
    for (const follower of tenant.followers) await follower.resume();
    if (activeTargets(tenant).length === 0 && tenant.followers.length === 0)
      return await reportRun(tenant, startedAt, null, null);
    const summaries = await tenant.targetStore.summarize([...tenant.targets.keys()]);
    await endImpossibleWaits(tenant, summaries);
    const paced = isPaced ? { pacedAt: startedAt } : {};
    const cycle = await planCycle(tenant, { lease, progress, justRead, ...paced }, guarded);
    refusal = refusalOf?.(cycle) ?? null;
    if (refusal !== null) throw refusal;
    const run = runIdOf(startedAt);
    await spanned(tenant.spans, 'cycle commit', {}, () => commitCycle(tenant, cycle, lease, { run, wake }));
    span.addFacts({ 'clinic_mirror.run': run, ...logDecisions(tenant, run, cycle) });
    return await reportRun(tenant, startedAt, cycle, null);
  } catch (error) {
    if (signal.aborted) throw error;
    // Limits how long erased patients remain in memory: until the next cycle, even if the clinic stays unreadable.
    tenant.source.invalidate();
    const failure = asMirrorError(error);
    span.addFacts({ 'error.type': failure.code });
    if (failure.code === SUPERSEDED || failure === refusal) throw failure;
    // A host outage is logged once for all work that waits for the host.
    tenant.log[tenant.outages.causeOf(failure) === null ? 'warn' : 'debug'](
      { tenant: tenant.id, code: failure.code, actor: failure.actor, status: failure.status },
      'cycle ended early',
    );
    if (lease.signal.aborted || failure.code === 'lease-lost') throw fencedError();
    await tenant.outages.waitCycle(tenant.id, failure);
    return await reportRun(tenant, startedAt, null, failure);
  } finally {
    await lease.release();
  }
}

/**
 * Logs a cycle with changes; each target logs its own writes.
 * @returns the logged numbers
 */
function logDecisions({ log }: OpenTenant, run: string, { plans }: TenantCycle): SpanFacts {
  const changes = plans.reduce((sum, { permitted }) => sum + permitted.length, 0);
  const held = plans.reduce((sum, plan) => sum + Object.values(plan.held).flat().length, 0);
  if (changes + held > 0) log.info({ run, changes, held }, 'cycle planned changes');
  return { 'clinic_mirror.changes': changes, 'clinic_mirror.held': held };
}

/** Result of the job that reads streams. */
interface StreamsTurn {
  /** Report of the following cycle; null without a read. */
  run: RunReport | null;
  /** Another process plans the tenant's CRMs and must run the job. */
  isElsewhere: boolean;
}

/** Returns whether a tenant's streams are due after a cycle, in a separate job. Returns false if the clinic is unreadable. */
export async function areStreamsDue(tenant: OpenTenant, lastRun: RunReport): Promise<boolean> {
  if (lastRun.error !== null) return false;
  return (await findDueStreams(tenant, activeTargets(tenant), { lastRun })).due.length > 0;
}

/** Returns whether another process plans a tenant's CRMs and should run the cycle. Needs no request for a tenant without CRMs. */
export async function areCrmsElsewhere(tenant: OpenTenant): Promise<boolean> {
  return (await findDueStreams(tenant, activeTargets(tenant))).isElsewhere;
}

/**
 * Reads the due additional streams of a tenant's CRMs, and then runs a cycle that plans with them. Other cycles continue meanwhile, so that
 * a long read does not delay calendars. One such read per tenant, over all processes.
 * @param options.takesOver the process that planned the tenant's CRMs last no longer exists
 */
export async function readStreamsInTurn(
  tenant: OpenTenant,
  options: { takesOver: boolean },
  signal: AbortSignal,
): Promise<StreamsTurn> {
  const streamsLease = await tenant.leases.tryTake(STREAMS_LEASE);
  // The process that reads also plans.
  if (streamsLease === null) return { run: null, isElsewhere: false };
  try {
    const found = await findDueStreams(tenant, activeTargets(tenant));
    if (found.isElsewhere && !options.takesOver) return { run: null, isElsewhere: true };
    if (found.due.length === 0) return { run: null, isElsewhere: false };
    const isRead = await readStreams(tenant, found, () => {}, AbortSignal.any([signal, streamsLease.signal]));
    // Still under the lease: no other process reads newer data before this plan.
    return {
      run: isRead ? await pullWhenFree(tenant, () => {}, signal, { justRead: true }) : null,
      isElsewhere: false,
    };
  } finally {
    await streamsLease.release();
  }
}

/**
 * Runs one cycle for a waiting user with new reads only. The CRMs' streams are read first, while the daemon's cycles continue.
 * @param progress receives the reads and the reasons for waiting
 * @param refusalOf checks the plan before its commit
 * @throws the error of `refusalOf`
 */
export async function pullAfresh(
  tenant: OpenTenant,
  progress: Progress,
  signal: AbortSignal,
  refusalOf?: RefusalOf,
): Promise<RunReport> {
  const targets = activeTargets(tenant);
  if (targets.every(({ crm }) => crm === null)) return pullWhenFree(tenant, progress, signal, { refusalOf });
  const streamsLease = await waitForLease(
    tenant.leases,
    STREAMS_LEASE,
    { what: message('step.wait.patients'), report: progress },
    signal,
  );
  try {
    const found = await findDueStreams(tenant, targets, { fresh: true });
    await readStreams(tenant, found, progress, AbortSignal.any([signal, streamsLease.signal]));
    return await pullWhenFree(tenant, progress, signal, { justRead: true, refusalOf });
  } finally {
    await streamsLease.release();
  }
}
