import { type OpenSpan, type SpanFacts, spanned } from '../log/logger.ts';
import { message } from '../messages/message.ts';
import { asMirrorError, type MirrorError } from '../model/errors.ts';
import type { Progress } from '../model/tasks.ts';
import { DAY_MS } from '../model/time.ts';
import { PLAN_LEASE, STREAMS_LEASE, SUPERSEDED } from '../state/config-version.ts';
import { type Lease, waitForLease } from '../state/leases.ts';
import { type RunReport, runIdOf } from '../state/runs.ts';
import { fencedError } from '../state/script.ts';
import { type CycleCommitter, commitCycle, reportRun } from './commit.ts';
import type { Cycle } from './cycle.ts';
import { discardForged, endImpossibleWaits } from './lanes.ts';
import { type CyclePlanner, planCycle } from './plan-cycle.ts';
import { findDueStreams, readStreams } from './streams.ts';
import { activeTargets, type OpenTenant } from './tenant.ts';

/** How long a rejection keeps the same records from being held again. */
const REJECTION_MS = 7 * DAY_MS;

/** Members of a tenant that a whole cycle uses. */
type CycleRunner = CyclePlanner & CycleCommitter;

/**
 * One cycle of a tenant: pull, compare, plan, guard, and put what differs into the outboxes. One at a time per tenant.
 * @param options.asked somebody knows of something new: all is read, whatever the pace; and it comes again when it finds no room
 * @param options.wake is told of each target that has something new to write, before the cycle has ended
 * @returns the report, with the error in it when the clinic could not be read; null while another cycle is under way, and when this one lost its
 * lease, which is no failure of the clinic
 */
export async function pullTenant(
  tenant: CycleRunner,
  signal: AbortSignal,
  { asked = false, wake = nobody }: { asked?: boolean; wake?: (target: string) => Promise<void> } = {},
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
 * The same, after the cycle that is under way, and all is read.
 * @param progress is told of the steps, and of what is waited for
 * @param options.justRead what CRMs need beside appointments was read just before
 * @throws what `options.refusalOf` gives; MirrorError `conflict`, code `lease-lost`
 */
export async function pullWhenFree(
  tenant: CycleRunner,
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
  return underLease(tenant, lease, { progress, isPaced: false, justRead, refusalOf, wake: nobody }, signal);
}

/** Looks at what was planned before anything of it is carried into the state. @returns why none of it must be; null when it may */
export type RefusalOf = (cycle: Cycle) => MirrorError | null;

interface CycleOptions {
  progress: Progress;
  isPaced: boolean;
  justRead: boolean;
  refusalOf?: RefusalOf | undefined;
  wake(target: string): Promise<void>;
}

/** Who asked for the cycle writes by themselves what came of it. */
async function nobody(): Promise<void> {}

function underLease(tenant: CycleRunner, lease: Lease, options: CycleOptions, signal: AbortSignal): Promise<RunReport> {
  return spanned(tenant.spans, 'cycle', { facts: { 'clinic_mirror.tenant': tenant.id } }, (span) =>
    tenant.outages.watch(() => runCycle(tenant, lease, { ...options, span }, signal)),
  );
}

async function runCycle(
  tenant: CycleRunner,
  lease: Lease,
  { progress, isPaced, justRead, refusalOf, wake, span }: CycleOptions & { span: OpenSpan },
  signal: AbortSignal,
): Promise<RunReport> {
  const startedAt = tenant.clock();
  let refusal: MirrorError | null = null;
  try {
    const guarded = AbortSignal.any([signal, lease.signal]);
    const now = tenant.clock();
    const forged = await tenant.holds.dropForged();
    if (forged > 0)
      tenant.log.error({ code: 'record-forged', holds: forged }, 'holds in Redis were not ours: they approve nothing');
    for (const hold of await tenant.holds.expire(now, now + REJECTION_MS)) {
      tenant.log.warn(
        { hold: hold.id, target: hold.target, kind: hold.kind },
        'a hold expired undecided: nothing was removed',
      );
    }
    for (const follower of tenant.followers) await follower.resume();
    if (activeTargets(tenant).length === 0 && tenant.followers.length === 0)
      return await reportRun(tenant, startedAt, null, null);
    const summaries = await tenant.targetStore.summarize([...tenant.targets.keys()]);
    await discardForged(tenant, summaries);
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
    // Whoever is forgotten meanwhile stays in memory until the next cycle at most, however long the clinic can't be read.
    tenant.memory.appointments.invalidate();
    const failure = asMirrorError(error);
    span.addFacts({ 'error.type': failure.code });
    if (failure.code === SUPERSEDED || failure === refusal) throw failure;
    // That a host is away is told once, for all that wait for it.
    tenant.log[tenant.outages.causeOf(failure) === null ? 'warn' : 'debug'](
      { tenant: tenant.id, code: failure.code, actor: failure.actor, status: failure.status },
      'a cycle ended early',
    );
    if (lease.signal.aborted || failure.code === 'lease-lost') throw fencedError();
    await tenant.outages.waitCycle(tenant.id, failure);
    return await reportRun(tenant, startedAt, null, failure);
  } finally {
    await lease.release();
  }
}

/** A line for a cycle that had something to do; what came of it each target tells when it was written to. @returns the same in figures */
function logDecisions({ log }: Pick<OpenTenant, 'log'>, run: string, { plans }: Cycle): SpanFacts {
  const changes = plans.reduce((sum, { passed }) => sum + passed.length, 0);
  const held = plans.reduce((sum, plan) => sum + Object.values(plan.held).flat().length, 0);
  if (changes + held > 0) log.info({ run, changes, held }, 'a cycle decided changes');
  return { 'clinic_mirror.changes': changes, 'clinic_mirror.held': held };
}

/** What came of a turn. */
interface StreamsTurn {
  /** Of the cycle that followed; null when nothing was read. */
  run: RunReport | null;
  /** Another process plans the tenant's CRMs: the job is for it. */
  isElsewhere: boolean;
}

/** Whether a tenant has streams that should be read after a cycle, by a job of their own. Not where the clinic can't be read at all. */
export async function areStreamsDue(
  tenant: Pick<OpenTenant, 'clock' | 'memory' | 'runs' | 'targets'>,
  lastRun: RunReport,
): Promise<boolean> {
  if (lastRun.error !== null) return false;
  return (await findDueStreams(tenant, activeTargets(tenant), { lastRun })).due.length > 0;
}

/** Whether another process plans a tenant's CRMs, so that a cycle is better done there. Costs nothing where there are none. */
export async function areCrmsElsewhere(
  tenant: Pick<OpenTenant, 'clock' | 'memory' | 'runs' | 'targets'>,
): Promise<boolean> {
  return (await findDueStreams(tenant, activeTargets(tenant))).isElsewhere;
}

/**
 * Reads what a tenant's CRMs follow beside appointments, as far as it is due, and has a cycle follow that plans them by it. Cycles go
 * on meanwhile, so that a long reading delays no calendar. One reading of a tenant at a time, over all processes.
 * @param options.takesOver the process that planned the tenant's CRMs last is gone
 */
export async function readStreamsInTurn(
  tenant: CycleRunner,
  options: { takesOver: boolean },
  signal: AbortSignal,
): Promise<StreamsTurn> {
  const streamsLease = await tenant.leases.tryTake(STREAMS_LEASE);
  // Whoever reads plans by it too.
  if (streamsLease === null) return { run: null, isElsewhere: false };
  try {
    const found = await findDueStreams(tenant, activeTargets(tenant));
    if (found.isElsewhere && !options.takesOver) return { run: null, isElsewhere: true };
    if (found.due.length === 0) return { run: null, isElsewhere: false };
    const isRead = await readStreams(tenant, found, () => {}, AbortSignal.any([signal, streamsLease.signal]));
    // Still under the lease: nobody reads what is newer while this waits to be planned by.
    return {
      run: isRead ? await pullWhenFree(tenant, () => {}, signal, { justRead: true }) : null,
      isElsewhere: false,
    };
  } finally {
    await streamsLease.release();
  }
}

/**
 * One cycle for a person who waits for it: nothing that was read before will do. What CRMs follow is read first, while the
 * daemon's cycles go on.
 * @param progress is told what is read, and what is waited for
 * @param refusalOf looks at the plan before it is carried into the state
 * @throws what `refusalOf` gives
 */
export async function pullAfresh(
  tenant: CycleRunner,
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
