import { computesFromHistory } from '../jobs/streams.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Hold, PlannedChange } from '../model/plan.ts';
import type { TargetState } from './diff.ts';
import { holdAll } from './guard.ts';
import type { Cycle, TargetPlan } from './plan.ts';
import { planTarget } from './plan.ts';
import { replacesNearlyAll } from './replaced.ts';
import { type Known, writtenSoon } from './views.ts';

/** What came of planning the targets of one cycle. */
export interface PlannedTargets {
  plans: TargetPlan[];
  /** Targets in CRMs whose plan could not be made: they are left as they are. */
  failed: Cycle['left'];
}

/**
 * Plans every target that could be read. Contacts come first, since what belongs to them goes by what becomes of them. A CRM's target
 * that can't be planned (its expressions can't be worked out now) keeps no other from its work.
 */
export async function planTargets(
  tenant: OpenTenant,
  input: Omit<Known, 'heldContacts' | 'comingContacts' | 'holds' | 'generation'>,
  signal: AbortSignal,
): Promise<PlannedTargets> {
  const holds = await tenant.holds.list();
  const heldContacts = contactsIn(holds, tenant);
  const comingContacts = new Map<string, ReadonlySet<string>>();
  const known = { ...input, holds, heldContacts, comingContacts, generation: await tenant.generation.look() };
  const plans = new Map<OpenTarget, TargetPlan>();
  const failed: { target: string; code: string }[] = [];
  const configured = [...input.states.keys()];
  const contacts = configured.filter(({ stream }) => stream === 'patients');
  for (const group of [contacts, configured.filter((target) => !contacts.includes(target))]) {
    const planned = await planGroup(tenant, group, known, failed, signal);
    for (const plan of keepDoubted(planned)) {
      plans.set(plan.target, plan);
      if (plan.target.stream !== 'patients') continue;
      heldContacts.set(plan.target.id, heldIn(plan));
      comingContacts.set(plan.target.id, comingIn(plan, input.states.get(plan.target)));
    }
  }
  // As they are configured, whatever the order in which they were planned.
  return { plans: keepComputed(configured.flatMap((target) => plans.get(target) ?? [])), failed };
}

/** What a contact's properties are computed from may be somebody else's too. */
function keepComputed(plans: TargetPlan[]): TargetPlan[] {
  const isForeign = plans.some(({ replaced, target }) => replaced && target.stream === 'appointments');
  return plans.map((plan) =>
    isForeign && !plan.replaced && computesFromHistory(plan.target) ? withoutReading(plan) : plan,
  );
}

async function planGroup(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  known: Known,
  failed: { target: string; code: string }[],
  signal: AbortSignal,
): Promise<TargetPlan[]> {
  const plans: TargetPlan[] = [];
  for (const target of targets) {
    const state = known.states.get(target);
    if (state === undefined) continue;
    try {
      plans.push(await planTarget(tenant, target, known, state, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (target.crm === null) throw error;
      const { code, actor } = asMirrorError(error);
      tenant.log.warn({ target: target.id, code, actor }, 'a target could not be planned');
      failed.push({ target: target.id, code });
    }
  }
  return plans;
}

/**
 * A reading that one target doubts removes nothing from any target that follows the same stream. One that replaces nearly all that one
 * target holds, or all targets together, is not written to any.
 */
function keepDoubted(plans: readonly TargetPlan[]): TargetPlan[] {
  const streams = new Set(plans.map(({ target }) => target.stream));
  const of = (stream: string) => plans.filter(({ target }) => target.stream === stream);
  const doubted = new Set([...streams].filter((stream) => of(stream).some(({ doubtsReading }) => doubtsReading)));
  const replaced = new Set(
    [...streams].filter((stream) => {
      const open = of(stream).filter(({ reading }) => reading?.decided !== 'approved');
      return (
        of(stream).some((plan) => plan.replaced) || replacesNearlyAll(open.flatMap((p) => p.reading?.records ?? []))
      );
    }),
  );
  return plans.map((plan) => {
    if (plan.replaced) return plan;
    const decided = plan.reading?.decided ?? null;
    if (decided === 'open' || (replaced.has(plan.target.stream) && decided !== 'approved')) return withoutReading(plan);
    return doubted.has(plan.target.stream) ? holdAll(plan, plan.approved) : plan;
  });
}

/** What others take for somebody else's rows is not written here either, but for what a person approved. */
function withoutReading(plan: TargetPlan): TargetPlan {
  const isApproved = ({ recordId }: PlannedChange) => plan.approved.has(recordId);
  const kept = [...plan.passed, ...plan.postponed].filter((change) => !isApproved(change));
  const isRefused = plan.reading?.decided === 'rejected';
  return {
    ...plan,
    passed: plan.passed.filter(isApproved),
    postponed: plan.postponed.filter(isApproved),
    held: { ...plan.held, replaced: isRefused ? [] : kept },
    refused: isRefused ? [...plan.refused, ...kept] : plan.refused,
    replaced: true,
  };
}

/** As of the last plan, for contacts that this cycle does not plan. */
function contactsIn(holds: readonly Hold[], { targets }: OpenTenant): Map<string, ReadonlySet<string>> {
  const held = new Map<string, ReadonlySet<string>>();
  for (const { target, state, recordIds } of holds) {
    if (targets.get(target)?.stream !== 'patients' || state === 'approved') continue;
    held.set(target, new Set([...(held.get(target) ?? []), ...recordIds]));
  }
  return held;
}

/** What waits already is still written, unless the plan gives it up. */
function comingIn({ passed, abandoned }: TargetPlan, state: TargetState | undefined): ReadonlySet<string> {
  const coming = writtenSoon(state?.pending.values() ?? []);
  for (const recordId of abandoned) coming.delete(recordId);
  for (const { recordId, wanted } of passed) if (wanted.want === 'present') coming.add(recordId);
  return coming;
}

function heldIn({ held, refused }: TargetPlan): ReadonlySet<string> {
  return new Set([...Object.values(held).flat(), ...refused].map(({ recordId }) => recordId));
}
