import type { Cycle } from '../jobs/cycle.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Hold, PlannedChange } from '../model/plan.ts';
import type { Progress } from '../model/progress.ts';
import type { Instant } from '../model/time.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import { type Installation, requireTenant } from './installation.ts';
import { asMatchable, findMatches } from './match.ts';

/** One line of a plan: ids, codes and field names, never contents. */
export interface PlanLine {
  /** Id of the appointment, patient or invoice. */
  record: string;
  operation: 'create' | 'update' | 'delete';
  reason: string;
  fields: readonly string[];
  /** Null for a patient. */
  startAt: Instant | null;
  /** `go`: would be written; `held` for a person; `refused` by one. */
  verdict: 'go' | 'held' | 'refused';
}

/** What a cycle would do to one target now. */
export interface TargetPlanView {
  target: string;
  links: number;
  /** Records that are as they should be: nothing waits for them, and nothing failed. */
  unchanged: number;
  /** Changes from before that fail, the deletions among them; `health` names them. */
  failing: number;
  /** Changes from before that wait for their turn. */
  waiting: number;
  released: number;
  /**
   * Before the first write to a CRM: contacts there that are not ours, and patients who look like one; or the code of why they can't be read.
   * Null where that is no question.
   */
  existing: { contacts: number; alike: number } | { unread: string } | null;
  lines: PlanLine[];
}

/** What a cycle would do now. */
export interface PlanView {
  tenant: string;
  asOf: Instant;
  snapshot: { completeness: string; reason: string | null; records: number; setAside: number };
  /** Absent records that could not be read alone: nothing would be done about them. */
  unconfirmed: number;
  targets: TargetPlanView[];
  /** Targets that could not be looked at, with the code of the reason. */
  left: readonly { target: string; code: string }[];
}

/** Reads clinic and state and shows the difference; writes nothing anywhere. */
export async function planTenant(
  installation: Installation,
  id: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<PlanView> {
  const tenant = requireTenant(installation, id);
  const cycle = await planCycle(tenant, { lease: null, progress }, signal);
  const { clinicReading, confirmations, plans, left } = cycle;
  const existing = new Map<string, TargetPlanView['existing']>();
  for (const plan of plans) existing.set(plan.target.id, await existingOf(tenant, plan, cycle, signal));
  const { snapshot } = clinicReading;
  return {
    tenant: id,
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
      links: plan.linkCount,
      unchanged: plan.unchanged - plan.unsettled,
      ...plan.standing,
      released: plan.released.length,
      existing: existing.get(plan.target.id) ?? null,
      lines: [
        ...plan.passed.map((change) => lineOf(change, 'go')),
        ...heldChanges(plan.held).map((change) => lineOf(change, 'held')),
        ...plan.refused.map((change) => lineOf(change, 'refused')),
      ].sort((a, b) => (a.startAt ?? 0) - (b.startAt ?? 0)),
    })),
  };
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

function lineOf(change: PlannedChange, verdict: PlanLine['verdict']): PlanLine {
  const { recordId, reason, fields, wanted } = change;
  const operation = wanted.want === 'absent' ? 'delete' : reason === 'new' ? 'create' : 'update';
  return {
    record: recordId,
    operation,
    reason,
    fields,
    startAt: wanted.startAt === 0 ? null : wanted.startAt,
    verdict,
  };
}
