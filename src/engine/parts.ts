import type { Instant } from '../core/model/time.ts';
import type { Engine, EngineTarget } from './ports.ts';
import type { TargetSummary } from './store.ts';
import { isDecided, type TargetPlan } from './target-plan.ts';

/**
 * Returns targets that this cycle may plan over a partial read: new or changed records. Such a plan removes nothing and judges nothing.
 * Other cases require a full read: an unproven removal, a record that differs from its link's time, a suspicion.
 * @returns null if a full read is required
 */
export async function partialTargets<T extends EngineTarget>(
  engine: Pick<Engine, 'configVersion' | 'followers' | 'holds' | 'planLifeMs' | 'protection' | 'targetStore'>,
  targets: readonly T[],
  startedAt: Instant,
): Promise<readonly T[] | null> {
  // A decision about a hold requires a full read.
  if ((await engine.holds.list()).some(({ state }) => state !== 'rejected')) return null;
  const summaries = await engine.targetStore.summarize(targets.map(({ id }) => id));
  const now = { number: await engine.configVersion.join(), wentBackAt: await engine.protection.wentBackAt() };
  // Pending changes are written while the last whole plan is recent enough. A whole plan must come well before its expiry.
  const oldAt = startedAt - engine.planLifeMs / 2;
  if ([...summaries.values()].some((summary) => needsWhole(summary, now, oldAt))) return null;
  const adopted = targets.filter(({ id, plansParts }) => plansParts && summaries.get(id)?.record.adoptedAt != null);
  return adopted.length === 0 && engine.followers.length === 0 ? null : adopted;
}

/**
 * Returns whether a target requires a whole plan: none exists under the current configuration with complete links, or a repetition is due. A
 * target that fails before its first plan does not delay the others.
 */
function needsWhole(
  { record, pending }: TargetSummary,
  now: { number: number; wentBackAt: Instant | null },
  oldAt: Instant,
): boolean {
  const { adoptedAt, failure, plannedUnder, comparableUnder, wentBackAt, lastPlannedAt } = record;
  if (pending > 0 && (lastPlannedAt ?? 0) < oldAt) return true;
  if (adoptedAt === null) return failure === null;
  return plannedUnder !== now.number || comparableUnder !== now.number || wentBackAt !== now.wentBackAt;
}

/**
 * Returns whether a plan over a part is acceptable. Removals, and targets with more changed than confirmed records, require a full read.
 * Data of another source has unknown ids, or known ids with other contents, and would confirm almost no record.
 */
export function canStand(plan: TargetPlan): boolean {
  const { permitted, refused, unchanged } = plan;
  const isWrittenOnly = refused.length === 0 && permitted.every(({ wanted }) => wanted.want === 'present');
  return isDecided(plan) && isWrittenOnly && permitted.length <= unchanged;
}
