import { asMirrorError } from '../model/errors.ts';
import type { Cycle, TargetPlan } from './plan.ts';
import { planTarget } from './plan.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';
import type { Known } from './views.ts';

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
  input: Omit<Known, 'heldContacts'>,
  signal: AbortSignal,
): Promise<PlannedTargets> {
  const heldContacts = await contactsInHolds(tenant);
  const known = { ...input, heldContacts };
  const plans = new Map<OpenTarget, TargetPlan>();
  const failed: { target: string; code: string }[] = [];
  for (const target of contactsFirst(input.states.keys())) {
    const state = input.states.get(target);
    if (state === undefined) continue;
    try {
      const plan = await planTarget(tenant, target, known, state, signal);
      plans.set(target, plan);
      if (target.stream === 'patients') heldContacts.set(target.id, heldIn(plan));
    } catch (error) {
      signal.throwIfAborted();
      if (target.crm === null) throw error;
      const { code, actor } = asMirrorError(error);
      tenant.log.warn({ target: target.id, code, actor }, 'a target could not be planned');
      failed.push({ target: target.id, code });
    }
  }
  // As they are configured, whatever the order in which they were planned.
  return { plans: [...input.states.keys()].flatMap((target) => plans.get(target) ?? []), failed };
}

function contactsFirst(targets: Iterable<OpenTarget>): OpenTarget[] {
  const rank = ({ stream }: OpenTarget) => (stream === 'patients' ? 0 : 1);
  return [...targets].sort((one, other) => rank(one) - rank(other));
}

/** As of the last plan, for contacts that this cycle does not plan. */
async function contactsInHolds(tenant: OpenTenant): Promise<Map<string, ReadonlySet<string>>> {
  const held = new Map<string, ReadonlySet<string>>();
  for (const { target, state, recordIds } of await tenant.holds.list()) {
    if (tenant.targets.get(target)?.stream !== 'patients' || state === 'approved') continue;
    held.set(target, new Set([...(held.get(target) ?? []), ...recordIds]));
  }
  return held;
}

function heldIn({ held, refused }: TargetPlan): ReadonlySet<string> {
  return new Set([...Object.values(held).flat(), ...refused].map(({ recordId }) => recordId));
}
