import { asMirrorError, type MirrorError } from '../model/errors.ts';
import { FactSearch } from '../model/patient-facts.ts';
import type { Pieces } from '../model/pieces.ts';
import type { PlannedChange } from '../model/plan.ts';
import { type Contacts, contactsAfter, contactsBefore } from './crm-rules.ts';
import type { CycleInput, Planning, TargetInput } from './cycle-input.ts';
import { holdAll } from './guard.ts';
import { computesFromHistory } from './mapping-sources.ts';
import { planTarget } from './plan.ts';
import { replacesNearlyAll } from './replaced.ts';
import type { TargetPlan } from './target-plan.ts';

/** Plans of one cycle's targets. */
export interface PlannedTargets {
  /** In the order of the input. */
  plans: TargetPlan[];
  /** By id: CRM targets without a plan because of an error. They remain unchanged. */
  failed: ReadonlyMap<string, MirrorError>;
  /** By target of contacts: patients found gone since the list of patients was read, earlier ones included. */
  gone: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * Plans every target of a cycle. Pure: equal input gives equal plans, in pieces or at once, and the input is unchanged. Contacts are
 * planned first, because activities and deals depend on them. A CRM target with an error, such as a mapping that fails, does not stop
 * other targets.
 */
export function* planTargets(input: CycleInput): Pieces<PlannedTargets> {
  const cycle: Planning = { ...input, facts: new FactSearch() };
  const contacts = contactsBefore(cycle);
  const plans = new Map<string, TargetPlan>();
  const failed = new Map<string, MirrorError>();
  const isOfContacts = ({ target }: TargetInput) => target.stream === 'patients';
  const ofContacts = cycle.targets.filter(isOfContacts);
  for (const group of [ofContacts, cycle.targets.filter((input) => !isOfContacts(input))]) {
    const planned = yield* planGroup(group, cycle, contacts, failed);
    for (const plan of withholdSuspect(planned)) {
      const { id } = plan.target;
      plans.set(id, plan);
      const before = contacts.get(id);
      if (before !== undefined) contacts.set(id, contactsAfter(before, plan));
    }
  }
  return {
    // In the order of the configuration, whatever the order of planning.
    plans: withholdComputed(cycle.targets.flatMap(({ target }) => plans.get(target.id) ?? [])),
    failed,
    gone: new Map([...contacts].map(([id, { gone }]) => [id, gone])),
  };
}

/** Source data of a contact's properties may come from another tenant too. */
function withholdComputed(plans: TargetPlan[]): TargetPlan[] {
  const isForeign = plans.some(({ replaced, target }) => replaced && target.stream === 'appointments');
  return plans.map((plan) =>
    isForeign && !plan.replaced && computesFromHistory(plan.target) ? withoutReading(plan) : plan,
  );
}

function* planGroup(
  targets: readonly TargetInput[],
  cycle: Planning,
  contacts: ReadonlyMap<string, Contacts>,
  failed: Map<string, MirrorError>,
): Pieces<TargetPlan[]> {
  const plans: TargetPlan[] = [];
  for (const input of targets) {
    const { target } = input;
    try {
      plans.push(yield* planTarget(input, cycle, contacts));
    } catch (error) {
      if (target.crm === null) throw error;
      failed.set(target.id, asMirrorError(error));
    }
  }
  return plans;
}

/**
 * Withholds suspect reads. If one target distrusts a read, no target of the stream removes records. If a read replaces nearly all records
 * of one target, or of all targets together, no target is written.
 */
function withholdSuspect(plans: readonly TargetPlan[]): TargetPlan[] {
  const streams = new Set(plans.map(({ target }) => target.stream));
  const of = (stream: string) => plans.filter(({ target }) => target.stream === stream);
  const suspectBy = new Map(
    [...streams].map((stream) => [stream, of(stream).find(({ distrustsReading }) => distrustsReading)?.target.id]),
  );
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
    const exceededIn = suspectBy.get(plan.target.stream);
    if (exceededIn === undefined) return plan;
    const held = holdAll(plan, plan.approved);
    return plan.distrustsReading ? held : { ...held, exceededIn };
  });
}

/** Withholds all changes from a read that other targets attribute to another tenant, except for approved changes. */
function withoutReading(plan: TargetPlan): TargetPlan {
  const isApproved = ({ recordId }: PlannedChange) => plan.approved.has(recordId);
  const withheld = [...plan.passed, ...plan.postponed].filter((change) => !isApproved(change));
  const isRefused = plan.reading?.decided === 'rejected';
  return {
    ...plan,
    passed: plan.passed.filter(isApproved),
    postponed: plan.postponed.filter(isApproved),
    held: { ...plan.held, replaced: isRefused ? [] : withheld },
    refused: isRefused ? [...plan.refused, ...withheld] : plan.refused,
    replaced: true,
  };
}
