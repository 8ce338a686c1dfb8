import type { Hold } from '../core/model/plan.ts';
import type { SkippedTarget } from '../core/model/plan-view.ts';
import type { TargetGap } from '../core/model/run-schemas.ts';
import type { Uncertainty } from '../core/model/state-schemas.ts';
import type { Instant } from '../core/model/time.ts';
import type { PushedState } from './diff.ts';
import { idleUntil } from './idle-target.ts';
import type { Confirmations, Engine, EngineTarget, Reading } from './ports.ts';
import { TENANT_TOO_LARGE } from './storage-limit.ts';
import type { Lease, TargetSummary } from './store.ts';
import { egressStopped, NOTHING_PLANNED, type TargetPlan } from './target-plan.ts';

/** Data of a cycle before it opens the targets' states. */
export interface LoadContext<R extends Reading = Reading> {
  reading: R;
  /** Last time at which the state went back in time. */
  wentBackAt: Instant | null;
  /** Unreadable or unknown data, by target and by part of an extension. */
  gaps: ReadonlyMap<string, readonly TargetGap[]>;
  summaries: ReadonlyMap<string, TargetSummary>;
  holds: readonly Hold[];
  /** Version of the list of erased people. */
  forgotten: string;
}

/** Data and plans of a cycle, before or after the commit. */
export interface Cycle<T extends EngineTarget = EngineTarget, R extends Reading = Reading> {
  reading: R;
  confirmations: Confirmations;
  plans: TargetPlan<T>[];
  /** Records of each target fetched individually. */
  toConfirm: ReadonlyMap<string, readonly string[]>;
  /** Targets without a new plan, because their input is unchanged; `plans` contains their plans. */
  doneTargets: readonly T[];
  /** Data loaded before the targets' states. */
  loadContext: LoadContext<R>;
  skippedTargets: readonly SkippedTarget[];
  /** Why the list of erased people may be incomplete, or null. */
  uncertainty: Uncertainty | null;
  /** Whether a part of a reading suffices for the next cycles: no record is absent, held or uncertain. */
  isPlain: boolean;
}

/**
 * Returns targets whose last plan had no changes and whose input is unchanged: records, links and erased people. No
 * change is pending, held or pinned, and no record entered or left the window.
 */
export async function plannedBefore<T extends EngineTarget>(
  { journal }: Pick<Engine, 'journal'>,
  targets: readonly T[],
  loadContext: LoadContext,
): Promise<Map<T, TargetPlan<T>>> {
  const now = loadContext.reading.startedAt;
  const candidates = targets.filter((target) => {
    const { idleTarget } = target;
    const isInTime = idleTarget !== null && idleTarget.fromAt <= now && now < idleTarget.untilAt;
    return isInTime && idleTarget.by === nameOf(target, loadContext) && isAtRest(target, loadContext);
  });
  const ids = candidates.map(({ id }) => id);
  const pinned = await journal.pinnedByTarget(ids, now);
  const resting = candidates.filter(({ id }) => !pinned.has(id));
  return new Map(resting.map((target) => [target, planOf(target, loadContext)]));
}

/**
 * Stores the input of a plan without changes; deletes the stored input for other plans.
 * @param state state used in the comparison; null if the plan used more than lists and state
 */
export function remember(
  target: EngineTarget,
  plan: TargetPlan,
  state: PushedState | null,
  loadContext: LoadContext,
): void {
  target.idleTarget = null;
  if (state === null || !isAtRest(target, loadContext) || hasWork(plan)) return;
  const { reading } = loadContext;
  const { startedAt } = reading;
  const untilAt = idleUntil({ own: reading.spansOf(target), state, window: reading.windowOf(target), now: startedAt });
  if (untilAt === null) return;
  const passedOver = Object.keys(reading.passedOver(target));
  const omitted = Object.fromEntries(Object.entries(plan.omitted).filter(([code]) => !passedOver.includes(code)));
  const { unchanged, linkCount: links } = plan;
  target.idleTarget = { by: nameOf(target, loadContext), fromAt: startedAt, untilAt, links, unchanged, omitted };
}

/** Stores the plan time of targets with unchanged input. */
export async function recordIdle(
  {
    clock,
    configVersion,
    sharedTime,
    targetStore,
  }: Pick<Engine, 'clock' | 'configVersion' | 'sharedTime' | 'targetStore'>,
  { reading, doneTargets, loadContext }: Cycle,
  lease: Lease,
): Promise<void> {
  const versions = new Map(doneTargets.map(({ id }) => [id, loadContext.summaries.get(id)?.linksVersion ?? null]));
  if (versions.size === 0) return;
  const idleRecord = {
    plannedAt: clock(),
    plannedUnder: await configVersion.join(),
    asOf: reading.completeness === 'complete' ? await sharedTime(reading.startedAt) : null,
    tookMs: Math.max(0, clock() - reading.startedAt),
  };
  await targetStore.recordIdle(versions, idleRecord, lease);
}

/** Everything that determines the plan of a target at rest, except the time. */
function nameOf(target: EngineTarget, { reading, summaries, forgotten }: LoadContext): string {
  const { linksVersion = null } = summaries.get(target.id) ?? {};
  return JSON.stringify([linksVersion, forgotten, reading.contentKey(target)?.() ?? null]);
}

/** Returns whether only records and links determine a target's content. */
function isAtRest(target: EngineTarget, { reading, gaps, summaries, holds, wentBackAt }: LoadContext): boolean {
  const summary = summaries.get(target.id);
  if (summary === undefined || summary.pending > 0 || target.preparedContainer === null) return false;
  const { adoptedAt, failure, wentBackAt: adoptedFor } = summary.record;
  const isAdopted = adoptedAt !== null && adoptedFor === wentBackAt && failure === null;
  return (
    isAdopted &&
    reading.contentKey(target) !== null &&
    !gaps.has(target.id) &&
    holds.every((hold) => hold.target !== target.id)
  );
}

/** Returns whether a plan has changes, holds, or pins. */
function hasWork(plan: TargetPlan): boolean {
  const { permitted, held, refused, withheld, postponed, released, timed, abandoned, outlived } = plan;
  const lists = [
    permitted,
    ...Object.values(held),
    ...Object.values(withheld),
    refused,
    postponed,
    released,
    timed,
    abandoned,
    outlived,
  ];
  return (
    egressStopped(plan.omitted).length > 0 ||
    plan.omitted[TENANT_TOO_LARGE] !== undefined ||
    plan.hasPins ||
    plan.replacesAll ||
    plan.distrustsReading ||
    lists.some((list) => list.length > 0)
  );
}

function planOf<T extends EngineTarget>(target: T, { reading }: LoadContext): TargetPlan<T> {
  const { links = 0, unchanged = 0, omitted = {} } = target.idleTarget ?? {};
  const passedOver = Object.entries(reading.passedOver(target)).filter(([, count]) => count > 0);
  return {
    ...{ ...NOTHING_PLANNED, target, unchanged, linkCount: links },
    omitted: { ...omitted, ...Object.fromEntries(passedOver) },
  };
}
