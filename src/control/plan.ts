import { z } from 'zod';
import type { Cycle } from '../jobs/cycle.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Hold, PlannedChange } from '../model/plan.ts';
import type { Progress } from '../model/progress.ts';
import type { Instant } from '../model/time.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import { type Installation, requireTenant } from './installation.ts';
import { asMatchable, findMatches } from './match.ts';

/** One line of a plan: ids, codes, field names, and a title that tells nothing of the patient; no other content. */
export interface PlanLine {
  /** Id of the appointment, patient or invoice. */
  record: string;
  operation: 'create' | 'update' | 'delete';
  reason: string;
  fields: readonly string[];
  /** Null for a patient. */
  startAt: Instant | null;
  /** What the calendar would show; null where the policy has titles that tell of the patient, and where nothing is written. */
  title: string | null;
  /** `go`: would be written; `held` for a person; `refused` by one. */
  verdict: 'go' | 'held' | 'refused';
}

/** What a cycle would do to one target now. */
export interface TargetPlanView {
  target: string;
  /** The calendar by the name that we give it, or the id in its settings; null for a CRM, and one that is named by an address. */
  calendar: string | null;
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
      calendar: calendarOf(tenant.targets.get(plan.target.id)),
      links: plan.linkCount,
      unchanged: plan.unchanged - plan.unsettled,
      ...plan.standing,
      released: plan.released.length,
      existing: existing.get(plan.target.id) ?? null,
      lines: [
        ...plan.passed.map((change) => lineOf(change, 'go', tenant.targets.get(plan.target.id))),
        ...heldChanges(plan.held).map((change) => lineOf(change, 'held', tenant.targets.get(plan.target.id))),
        ...plan.refused.map((change) => lineOf(change, 'refused', tenant.targets.get(plan.target.id))),
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

/** What a calendar's settings call it. */
const calendarSettings = z.object({
  calendar: z.union([
    z.object({ create: z.string() }).transform(({ create }) => create),
    z.object({ id: z.string() }).transform(({ id }) => id),
    z.string(),
  ]),
});

function calendarOf(target: OpenTarget | undefined): string | null {
  if (target === undefined || target.crm !== null) return null;
  return calendarSettings.safeParse(target.configuration.settings).data?.calendar ?? null;
}

/** Titles of these levels tell nothing of the patient. */
const TELLS_NOTHING: ReadonlySet<TargetConfiguration['title']> = new Set(['busy', 'appointment', 'code']);

function titleOf({ wanted }: PlannedChange, target: OpenTarget | undefined): string | null {
  if (wanted.want === 'absent' || !('title' in wanted.item)) return null;
  return target !== undefined && TELLS_NOTHING.has(target.configuration.title) ? wanted.item.title : null;
}

function lineOf(change: PlannedChange, verdict: PlanLine['verdict'], target: OpenTarget | undefined): PlanLine {
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
  };
}
