import { asMirrorError } from '../model/errors.ts';
import type { Progress } from '../model/progress.ts';
import { DAY_MS } from '../model/time.ts';
import { PLAN_LEASE, SUPERSEDED } from '../state/generations.ts';
import type { Lease } from '../state/leases.ts';
import { type RunReport, runIdOf } from '../state/runs.ts';
import { type Cycle, commitPlan, snapshotOf, type TargetPlan } from '../sync/plan.ts';
import { noteMisses } from './confirm.ts';
import { endImpossibleWaits } from './lanes.ts';
import { differsByHand } from './marks.ts';
import { noteProtection } from './note-protection.ts';
import { planCycle } from './plan-cycle.ts';
import { type Learned, planReminders, resumeReminders } from './plan-reminders.ts';
import { reportRun, targetRun } from './report.ts';
import { settle } from './settled.ts';
import { asOf, streamsOf } from './streams.ts';
import type { Survey } from './survey.ts';
import { activeTargets, type OpenTarget, type OpenTenant } from './tenant.ts';
import { waitForLease } from './wait-for-lease.ts';

/** How long a rejection keeps the same records from being held again. */
const REJECTION_MS = 7 * DAY_MS;

/**
 * One cycle of a tenant: pull, compare, plan, guard, and put what differs into the outboxes. One at a time per tenant.
 * @param options.asked somebody knows of something new: all is read, whatever the pace
 * @returns the report, with the error in it when the clinic could not be read; null while another cycle is under way
 */
export async function pullTenant(
  tenant: OpenTenant,
  signal: AbortSignal,
  { asked = false }: { asked?: boolean } = {},
): Promise<RunReport | null> {
  const lease = await tenant.leases.tryTake(PLAN_LEASE);
  return lease === null ? null : underLease(tenant, lease, { progress: () => {}, isPaced: !asked }, signal);
}

/** The same, after the cycle that is under way, and all is read. @param tell is told of the steps, and of what is waited for */
export async function pullWhenFree(tenant: OpenTenant, tell: Progress, signal: AbortSignal): Promise<RunReport> {
  const lease = await waitForLease(tenant.leases, PLAN_LEASE, { what: 'a cycle', tell }, signal);
  return underLease(tenant, lease, { progress: tell, isPaced: false }, signal);
}

async function underLease(
  tenant: OpenTenant,
  lease: Lease,
  { progress, isPaced }: { progress: Progress; isPaced: boolean },
  signal: AbortSignal,
): Promise<RunReport> {
  const startedAt = tenant.clock();
  try {
    const guarded = AbortSignal.any([signal, lease.signal]);
    const now = tenant.clock();
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
    const cycle = await planCycle(tenant, { lease, progress, ...paced }, guarded);
    const isMoving = (target: OpenTarget) => !cycle.settled.includes(target);
    await noteProtection(tenant, activeTargets(tenant).filter(isMoving), cycle.doubt);
    const moving = cycle.plans.filter(({ target }) => isMoving(target));
    for (const plan of moving) await commitPlan(tenant, plan, lease, runIdOf(startedAt));
    await settle(tenant, cycle, lease);
    await noteMisses(tenant, cycle);
    await (cycle.survey.reach === 'near' ? noteNear : noteFreshness)(tenant, cycle, moving);
    const isForeign = cycle.plans.some(({ replaced, target }) => replaced && target.stream === 'appointments');
    if (!isForeign) await planReminders(tenant, learnedOf(cycle));
    return await reportRun(tenant, startedAt, cycle, null);
  } catch (error) {
    if (signal.aborted) throw error;
    // Whoever is forgotten meanwhile stays in memory until the next cycle at most, however long the clinic can't be read.
    tenant.memory.appointments.forget();
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

/** A reading that a target doubts takes no reminder back: whether its appointment is there is asked again when it is due. */
function learnedOf({ survey, confirmations, plans }: Cycle): Learned {
  const { found, vanished: gone } = confirmations.appointments;
  const isDoubted = plans.some(({ doubtsReading, target }) => doubtsReading && target.stream === 'appointments');
  const vanished = isDoubted ? new Set<string>() : gone;
  return { records: survey.snapshot.records, found, vanished, place: survey.directory };
}

/**
 * A target with absent records that nobody could read alone is as fresh as it was before; so is one whose first run was not
 * approved, one whose reading replaces nearly everything, and one whose calendar was replaced meanwhile. With gaps it is so but for them:
 * its clock stands, the rest is as of now.
 */
async function noteFreshness(tenant: OpenTenant, cycle: Cycle, plans: readonly TargetPlan[]): Promise<void> {
  const { survey } = cycle;
  for (const plan of plans) {
    const gaps = cycle.gaps.get(plan.target.id) ?? [];
    await tenant.records.write(plan.target.id, { gaps: gaps.length === 0 ? null : gaps });
    if (!isWhole(survey, plan.target)) continue;
    if (targetRun(plan, cycle).unconfirmed > 0) continue;
    const { target, held, refused } = plan;
    const isLookedAtOnly = held['first-run'].length > 0 || refused.some(({ wanted }) => wanted.want === 'present');
    if (isLookedAtOnly || plan.replaced) continue;
    const { adoptedAt, trouble } = await tenant.records.read(target.id);
    if (adoptedAt === null) continue;
    const heldBack = Object.values(held).flat().length;
    const { pending } = await tenant.outbox.counts(target.id);
    const isQuiet = pending === 0 && heldBack === 0 && trouble === null;
    const isSettled = isQuiet && gaps.length === 0 && !(await differsByHand(tenant, target));
    const plannedAsOf = asOf(target, survey);
    const settled = isSettled ? { settledAsOf: plannedAsOf } : {};
    await tenant.records.write(target.id, { plannedAsOf, ...settled });
  }
}

/** The next two days are known as of now, whatever waits; all else is as old as it was. */
async function noteNear(tenant: OpenTenant, { survey }: Cycle, plans: readonly TargetPlan[]): Promise<void> {
  for (const { target } of plans) await tenant.records.write(target.id, { nearAsOf: survey.startedAt });
}

/** Whether all was read whole that a target follows and is computed from. */
function isWhole(survey: Survey, target: OpenTarget): boolean {
  const { streams, snapshot } = survey;
  if (streamsOf(target).some((name) => streams[name] === null)) return false;
  const needed = streamsOf(target).map((name) => (name === 'history' ? snapshot : streams[name]?.snapshot));
  return [snapshotOf(survey, target), ...needed].every((one) => one?.completeness === 'complete');
}
