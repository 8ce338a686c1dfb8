import { asMirrorError } from '../model/errors.ts';
import type { Progress } from '../model/progress.ts';
import { DAY_MS } from '../model/time.ts';
import { PLAN_LEASE, SUPERSEDED } from '../state/generations.ts';
import type { Lease } from '../state/leases.ts';
import { type RunReport, runIdOf } from '../state/runs.ts';
import { commitCycle } from './commit.ts';
import type { Cycle } from './cycle.ts';
import { endImpossibleWaits } from './lanes.ts';
import { planCycle } from './plan-cycle.ts';
import { resumeReminders } from './plan-reminders.ts';
import { reportRun } from './report.ts';
import { activeTargets, type OpenTenant } from './tenant.ts';
import { waitForLease } from './wait-for-lease.ts';

/** How long a rejection keeps the same records from being held again. */
const REJECTION_MS = 7 * DAY_MS;

/**
 * One cycle of a tenant: pull, compare, plan, guard, and put what differs into the outboxes. One at a time per tenant.
 * @param options.asked somebody knows of something new: all is read, whatever the pace; and it comes again when it finds no room
 * @returns the report, with the error in it when the clinic could not be read; null while another cycle is under way
 */
export async function pullTenant(
  tenant: OpenTenant,
  signal: AbortSignal,
  { asked = false }: { asked?: boolean } = {},
): Promise<RunReport | null> {
  const lease = await tenant.leases.tryTake(PLAN_LEASE, asked ? 'pull' : undefined);
  return lease === null
    ? null
    : underLease(tenant, lease, { progress: () => {}, isPaced: !asked, justRead: false }, signal);
}

/**
 * The same, after the cycle that is under way, and all is read.
 * @param tell is told of the steps, and of what is waited for
 * @param options.justRead what CRMs need beside appointments was read just before
 */
export async function pullWhenFree(
  tenant: OpenTenant,
  tell: Progress,
  signal: AbortSignal,
  { justRead = false }: { justRead?: boolean } = {},
): Promise<RunReport> {
  const lease = await waitForLease(tenant.leases, PLAN_LEASE, { what: 'a cycle', tell }, signal);
  return underLease(tenant, lease, { progress: tell, isPaced: false, justRead }, signal);
}

async function underLease(
  tenant: OpenTenant,
  lease: Lease,
  { progress, isPaced, justRead }: { progress: Progress; isPaced: boolean; justRead: boolean },
  signal: AbortSignal,
): Promise<RunReport> {
  const startedAt = tenant.clock();
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
    await resumeReminders(tenant);
    if (activeTargets(tenant).length === 0 && tenant.reminders === null)
      return await reportRun(tenant, startedAt, null, null);
    await endImpossibleWaits(tenant, activeTargets(tenant));
    const paced = isPaced ? { pacedAt: startedAt } : {};
    const cycle = await planCycle(tenant, { lease, progress, justRead, ...paced }, guarded);
    await commitCycle(tenant, cycle, lease, runIdOf(startedAt));
    tellDecided(tenant, runIdOf(startedAt), cycle);
    return await reportRun(tenant, startedAt, cycle, null);
  } catch (error) {
    if (signal.aborted) throw error;
    // Whoever is forgotten meanwhile stays in memory until the next cycle at most, however long the clinic can't be read.
    tenant.memory.appointments.invalidate();
    const failure = asMirrorError(error);
    if (failure.code === SUPERSEDED) throw failure;
    tenant.log.warn(
      { tenant: tenant.id, code: failure.code, actor: failure.actor, status: failure.status },
      'a cycle ended early',
    );
    return await reportRun(tenant, startedAt, null, failure);
  } finally {
    await lease.release();
  }
}

/** A line for a cycle that had something to do; what came of it each target tells when it was written to. */
function tellDecided({ log }: Pick<OpenTenant, 'log'>, run: string, { plans }: Cycle): void {
  const changes = plans.reduce((sum, { passed }) => sum + passed.length, 0);
  const held = plans.reduce((sum, plan) => sum + Object.values(plan.held).flat().length, 0);
  if (changes + held > 0) log.info({ run, changes, held }, 'a cycle decided changes');
}
