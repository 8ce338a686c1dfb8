import { asMirrorError, type MirrorError } from '../core/model/errors.ts';
import type { Pieces } from '../core/model/pieces.ts';
import type { PlannedChange } from '../core/model/plan.ts';
import { holdAll } from './guard.ts';
import { planTarget } from './plan.ts';
import type { CycleInput, Projections, TargetInput } from './ports.ts';
import { replacesNearlyAll } from './replaced.ts';
import type { PlannableTarget } from './target.ts';
import type { TargetPlan } from './target-plan.ts';

/** Plans of one cycle's targets. */
export interface PlannedTargets<Target extends PlannableTarget = PlannableTarget> {
  /** In the order of the input. */
  plans: TargetPlan<Target>[];
  /** By id: targets without a plan because their contents could not be computed. They remain unchanged. */
  failed: ReadonlyMap<string, MirrorError>;
}

/**
 * Plans every target of a cycle. Pure: equal input gives equal plans, in pieces or at once, and the input is unchanged. A target whose
 * contents cannot be computed does not stop other targets.
 */
export function* planTargets<Input extends TargetInput>(
  cycle: CycleInput<Input>,
  projections: Projections<Input>,
): Pieces<PlannedTargets<Input['target']>> {
  const plans = new Map<string, TargetPlan<Input['target']>>();
  const failed = new Map<string, MirrorError>();
  for (const group of projections.groups(cycle.targets)) {
    const planned = yield* planGroup(group, cycle, projections, failed);
    for (const plan of withholdSuspect(planned)) {
      plans.set(plan.target.id, plan);
      projections.planned(plan);
    }
  }
  const inOrder = cycle.targets.flatMap(({ target }) => plans.get(target.id) ?? []);
  return { plans: withholdComputed(inOrder, projections.computesFrom), failed };
}

/** Source data from which contents are computed may come from another source too. */
function withholdComputed<Target extends PlannableTarget>(
  plans: TargetPlan<Target>[],
  computesFrom: (target: Target) => readonly string[],
): TargetPlan<Target>[] {
  const foreign = new Set(plans.filter(({ replacesAll }) => replacesAll).map(({ target }) => target.stream));
  const isForeign = ({ target }: TargetPlan<Target>) => computesFrom(target).some((stream) => foreign.has(stream));
  return foreign.size === 0
    ? plans
    : plans.map((plan) => (!plan.replacesAll && isForeign(plan) ? withoutReading(plan) : plan));
}

function* planGroup<Input extends TargetInput>(
  group: readonly Input[],
  cycle: CycleInput<Input>,
  projections: Projections<Input>,
  failed: Map<string, MirrorError>,
): Pieces<TargetPlan<Input['target']>[]> {
  const plans: TargetPlan<Input['target']>[] = [];
  for (const input of group) {
    try {
      plans.push(yield* planTarget(input, cycle, projections.of(input)));
    } catch (error) {
      failed.set(input.target.id, asMirrorError(error));
    }
  }
  return plans;
}

/**
 * Withholds suspect reads. If one target distrusts a read, no target of the stream removes records. If a read replaces nearly all records
 * of one target, or of all targets together, no target is written.
 */
function withholdSuspect<Target extends PlannableTarget>(plans: readonly TargetPlan<Target>[]): TargetPlan<Target>[] {
  const streams = new Set(plans.map(({ target }) => target.stream));
  const of = (stream: string) => plans.filter(({ target }) => target.stream === stream);
  const suspectBy = new Map(
    [...streams].map((stream) => [stream, of(stream).find(({ distrustsReading }) => distrustsReading)?.target.id]),
  );
  const replaced = new Set(
    [...streams].filter((stream) => {
      const open = of(stream).filter(({ reading }) => reading?.decided !== 'approved');
      return (
        of(stream).some((plan) => plan.replacesAll) || replacesNearlyAll(open.flatMap((p) => p.reading?.records ?? []))
      );
    }),
  );
  return plans.map((plan) => {
    if (plan.replacesAll) return plan;
    const decided = plan.reading?.decided ?? null;
    if (decided === 'open' || (replaced.has(plan.target.stream) && decided !== 'approved')) return withoutReading(plan);
    const exceededIn = suspectBy.get(plan.target.stream);
    if (exceededIn === undefined) return plan;
    const held = holdAll(plan, plan.approved);
    return plan.distrustsReading ? held : { ...held, exceededIn };
  });
}

/** Withholds all changes from a read that other targets attribute to another source, except for approved changes. */
function withoutReading<Target extends PlannableTarget>(plan: TargetPlan<Target>): TargetPlan<Target> {
  const isApproved = ({ recordId }: PlannedChange) => plan.approved.has(recordId);
  const withheld = [...plan.permitted, ...plan.postponed].filter((change) => !isApproved(change));
  const isRefused = plan.reading?.decided === 'rejected';
  return {
    ...plan,
    permitted: plan.permitted.filter(isApproved),
    postponed: plan.postponed.filter(isApproved),
    held: { ...plan.held, replaced: isRefused ? [] : withheld },
    refused: isRefused ? [...plan.refused, ...withheld] : plan.refused,
    replacesAll: true,
  };
}
