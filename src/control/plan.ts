import { z } from 'zod';
import type { Cycle } from '../jobs/cycle.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import type { PlannedChange } from '../model/plan.ts';
import type { PlanLine, PlanLineView, PlanView, TargetPlanView } from '../model/plan-view.ts';
import type { Progress } from '../model/tasks.ts';
import type { TargetSetup } from '../sync/cycle-input.ts';
import { fieldTeller, hasPlainTitles } from '../sync/field-changes.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import { heldObjects } from './held-objects.ts';
import { type Installation, requireTenant } from './installation.ts';
import { asMatchable, findMatches } from './matching.ts';

export type { PlanLine, PlanLineView, PlanView } from '../model/plan-view.ts';

/** Reads clinic and state and, of what would change, the targets; shows the difference, and writes nothing anywhere. */
export async function planTenant(
  installation: Installation,
  id: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<PlanView> {
  const tenant = requireTenant(installation, id);
  return planView(tenant, await planCycle(tenant, { lease: null, progress }, signal), signal);
}

/** A cycle that only looked, as it is shown. */
export async function planView(
  tenant: Pick<OpenTenant, 'clinic' | 'id' | 'links' | 'outbox' | 'targetStore' | 'targets'>,
  cycle: Cycle,
  signal: AbortSignal,
): Promise<PlanView> {
  const { clinicReading, confirmations, plans, left } = cycle;
  const existing = new Map<string, TargetPlanView['existing']>();
  for (const plan of plans) existing.set(plan.target.id, await existingOf(tenant, plan, cycle, signal));
  const lines = await Promise.all(plans.map((plan) => linesWithFields(tenant, plan, cycle, signal)));
  const { snapshot } = clinicReading;
  const remarks = tenant.clinic.remarks();
  return {
    tenant: tenant.id,
    asOf: clinicReading.startedAt,
    snapshot: {
      completeness: snapshot.completeness,
      reason: snapshot.completeness === 'partial' ? snapshot.reason : null,
      records: snapshot.records.size,
      setAside: snapshot.setAside.length,
    },
    ...(remarks.length > 0 && { remarks }),
    unconfirmed: Object.values(confirmations).reduce((sum, { unconfirmed }) => sum + unconfirmed, 0),
    left,
    targets: plans.map((plan, at) => ({
      target: plan.target.id,
      calendar: calendarOf(plan.target),
      links: plan.linkCount,
      unchanged: plan.unchanged - plan.unsettled,
      ...plan.standing,
      released: plan.released.length,
      existing: existing.get(plan.target.id) ?? null,
      lines: lines[at] ?? [],
    })),
  };
}

/** What a plan means to do to one target, in the order of the records' times. */
export function planLines(plan: TargetPlan): PlanLine[] {
  return judgedChanges(plan).map(({ change, verdict }) => lineOf(change, verdict, plan.target));
}

function judgedChanges({
  passed,
  held,
  refused,
}: TargetPlan): { change: PlannedChange; verdict: PlanLine['verdict'] }[] {
  return [
    ...passed.map((change) => ({ change, verdict: 'go' as const })),
    ...Object.values(held)
      .flat()
      .map((change) => ({ change, verdict: 'held' as const })),
    ...refused.map((change) => ({ change, verdict: 'refused' as const })),
  ].sort((one, other) => one.change.wanted.startAt - other.change.wanted.startAt);
}

/** Where nothing is written the target's own object is told: a deletion takes it away. */
async function linesWithFields(
  tenant: Pick<OpenTenant, 'links' | 'targetStore' | 'targets'>,
  plan: TargetPlan,
  { clinicReading: { directory } }: Cycle,
  signal: AbortSignal,
): Promise<PlanLineView[]> {
  const changes = judgedChanges(plan);
  const target = tenant.targets.get(plan.target.id);
  if (target === undefined || changes.length === 0) return [];
  const held = await heldObjects(
    tenant,
    target,
    changes.map(({ change }) => change.recordId),
    signal,
  );
  const describe = fieldTeller(plan.target, directory);
  return changes.map(({ change, verdict }) => {
    const { recordId, fields, wanted } = change;
    const item = wanted.want === 'absent' ? null : wanted.item;
    return {
      ...lineOf(change, verdict, plan.target),
      fieldChanges: describe({ fields, wanted: item, held: held(recordId) }),
    };
  });
}

async function existingOf(
  tenant: Pick<OpenTenant, 'links' | 'outbox' | 'targetStore' | 'targets'>,
  { target: { id }, linkCount }: TargetPlan,
  cycle: Cycle,
  signal: AbortSignal,
): Promise<TargetPlanView['existing']> {
  const target = tenant.targets.get(id);
  const matchable = target === undefined || linkCount > 0 ? null : asMatchable(target);
  if (matchable === null) return null;
  try {
    const { contacts, alike } = await findMatches(tenant, matchable, cycle, signal);
    return { contacts, alike };
  } catch (error) {
    signal.throwIfAborted();
    return { unread: asMirrorError(error).code };
  }
}

/** What a calendar's settings call it. */
const calendarSettings = z.object({
  calendar: z.union([
    z.object({ create: z.string() }).transform(({ create }) => create),
    z.object({ id: z.string() }).transform(({ id }) => id),
    z.string(),
  ]),
});

function calendarOf({ crm, configuration }: TargetSetup): string | null {
  if (crm !== null) return null;
  return calendarSettings.safeParse(configuration.settings).data?.calendar ?? null;
}

function titleOf({ wanted }: PlannedChange, { configuration }: TargetSetup): string | null {
  if (wanted.want === 'absent' || !('title' in wanted.item)) return null;
  return hasPlainTitles(configuration) ? wanted.item.title : null;
}

function lineOf(change: PlannedChange, guardResult: PlanLine['verdict'], target: TargetSetup): PlanLine {
  const { recordId, reason, fields, wanted } = change;
  const operation = wanted.want === 'absent' ? 'delete' : reason === 'new' ? 'create' : 'update';
  return {
    record: recordId,
    operation,
    reason,
    fields,
    startAt: wanted.startAt === 0 ? null : wanted.startAt,
    title: titleOf(change, target),
    verdict: guardResult,
    fingerprint: wanted.want === 'absent' ? null : wanted.fingerprint,
  };
}
