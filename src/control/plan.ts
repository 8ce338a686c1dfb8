import { z } from 'zod';
import type { Cycle } from '../jobs/cycle.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import type { PlanLine, PlanView, TargetPlanView } from '../model/kept-plan.ts';
import type { Hold, PlannedChange } from '../model/plan.ts';
import type { Progress } from '../model/progress.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { TargetSetup } from '../sync/cycle-input.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import { type Installation, requireTenant } from './installation.ts';
import { asMatchable, findMatches } from './match.ts';

export type { PlanLine, PlanView, TargetPlanView } from '../model/kept-plan.ts';

/** Reads clinic and state and shows the difference; writes nothing anywhere. */
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
export async function planView(tenant: OpenTenant, cycle: Cycle, signal: AbortSignal): Promise<PlanView> {
  const { clinicReading, confirmations, plans, left } = cycle;
  const existing = new Map<string, TargetPlanView['existing']>();
  for (const plan of plans) existing.set(plan.target.id, await existingOf(tenant, plan, cycle, signal));
  const { snapshot } = clinicReading;
  return {
    tenant: tenant.id,
    asOf: clinicReading.startedAt,
    snapshot: {
      completeness: snapshot.completeness,
      reason: snapshot.completeness === 'partial' ? snapshot.reason : null,
      records: snapshot.records.size,
      setAside: snapshot.setAside.length,
    },
    unconfirmed: Object.values(confirmations).reduce((sum, { unconfirmed }) => sum + unconfirmed, 0),
    left,
    targets: plans.map((plan) => ({
      target: plan.target.id,
      calendar: calendarOf(plan.target),
      links: plan.linkCount,
      unchanged: plan.unchanged - plan.unsettled,
      ...plan.standing,
      released: plan.released.length,
      existing: existing.get(plan.target.id) ?? null,
      lines: planLines(plan),
    })),
  };
}

/** What a plan means to do to one target, in the order of the records' times. */
export function planLines({ target, passed, held, refused }: TargetPlan): PlanLine[] {
  return [
    ...passed.map((change) => lineOf(change, 'go', target)),
    ...heldChanges(held).map((change) => lineOf(change, 'held', target)),
    ...refused.map((change) => lineOf(change, 'refused', target)),
  ].sort((a, b) => (a.startAt ?? 0) - (b.startAt ?? 0));
}

async function existingOf(
  tenant: OpenTenant,
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

function heldChanges(held: Readonly<Record<Hold['kind'], PlannedChange[]>>): PlannedChange[] {
  return Object.values(held).flat();
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

/** Titles of these levels tell nothing of the patient. */
const TELLS_NOTHING: ReadonlySet<TargetConfiguration['title']> = new Set(['busy', 'appointment', 'code']);

function titleOf({ wanted }: PlannedChange, { configuration }: TargetSetup): string | null {
  if (wanted.want === 'absent' || !('title' in wanted.item)) return null;
  return TELLS_NOTHING.has(configuration.title) ? wanted.item.title : null;
}

function lineOf(change: PlannedChange, verdict: PlanLine['verdict'], target: TargetSetup): PlanLine {
  const { recordId, reason, fields, wanted } = change;
  const operation = wanted.want === 'absent' ? 'delete' : reason === 'new' ? 'create' : 'update';
  return {
    record: recordId,
    operation,
    reason,
    fields,
    startAt: wanted.startAt === 0 ? null : wanted.startAt,
    title: titleOf(change, target),
    verdict,
    fingerprint: wanted.want === 'absent' ? null : wanted.fingerprint,
  };
}
