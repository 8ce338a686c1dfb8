import type { PlannedChange } from '../core/model/plan.ts';
import { TARGET_HOLD_KINDS } from '../core/model/plan.ts';
import type { TargetGap } from '../core/model/run-schemas.ts';
import { HOUR_MS, type Instant } from '../core/model/time.ts';
import { nothingMissing } from './absence.ts';
import { recordMisses } from './confirm.ts';
import { differsByHand } from './drift.ts';
import { deletionClass, type GoneReason } from './guard.ts';
import { type Cycle, recordIdle } from './memo.ts';
import { activeTargets, type Engine, type EngineTarget, type Extension, type Reading } from './ports.ts';
import { countAgain, TENANT_TOO_LARGE } from './storage-limit.ts';
import type { Lease } from './store.ts';
import { egressStopped, type TargetPlan } from './target-plan.ts';

/**
 * Writes a cycle to the state: protection of people first, then each target, then data for the next cycle.
 * @param wake receives each target with new writes as soon as the lane may write them. After a crash before it, the caller of a later cycle
 * starts the lanes of all targets with pending changes.
 */
export async function commitCycle<T extends EngineTarget, R extends Reading>(
  engine: Engine<T, R>,
  cycle: Cycle<T, R>,
  lease: Lease,
  { run, wake }: { run: string; wake(target: string): Promise<void> },
): Promise<void> {
  const { reading, confirmations } = cycle;
  const done = new Set(cycle.doneTargets.map(({ id }) => id));
  const active = activeTargets(engine);
  await recordProtection(
    engine,
    active.filter(({ id }) => !done.has(id)),
    cycle,
  );
  const moving = cycle.plans.filter(({ target }) => !done.has(target.id));
  for (const plan of moving) {
    await commitPlan(engine, plan, lease, run);
    if (plan.permitted.length > 0) await wake(plan.target.id);
  }
  await countAgain(engine, moving);
  await recordIdle(engine, cycle, lease);
  await recordMisses(engine.targetStore, reading, confirmations);
  await (reading.reach === 'near' ? recordPart : recordFreshness)(engine, cycle, moving);
  for (const follower of engine.followers) await inform(follower, cycle);
}

/** Passes on what a cycle learned, unless the reading seems to come from another source. */
async function inform<R extends Reading>(
  extension: Extension<ReturnType<R['learned']>>,
  { plans, reading, confirmations }: Cycle<EngineTarget, R>,
): Promise<void> {
  const ofStream = plans.filter(({ target }) => target.stream === extension.stream);
  if (ofStream.some(({ replacesAll }) => replacesAll)) return;
  const provesNothing = ofStream.some(({ distrustsReading }) => distrustsReading);
  await extension.follow(reading.learned(confirmations, provesNothing) as ReturnType<R['learned']>);
}

/** Copies the protection data, and records that this state has seen all of the data. */
async function recordProtection(
  { targetStore, protection, log }: Engine,
  targets: readonly EngineTarget[],
  { uncertainty, reading: { startedAt } }: Cycle,
): Promise<void> {
  const stored = await Promise.all(targets.map(({ id }) => targetStore.read(id)));
  const allSeen = uncertainty === null && stored.every(({ adoptedAt }) => adoptedAt !== null);
  await protection.cycleEnded({ allSeen, startedAt });
  if (uncertainty === null) return void (await protection.copyOut());
  log.error(
    uncertainty,
    'list of erased persons is uncertain: personal data is not written or sent until an administrator decides',
  );
}

/** Writes a target's plan to the state: outbox, holds, released links, counts of the guard. */
async function commitPlan(engine: Engine, plan: TargetPlan<EngineTarget>, lease: Lease, run: string): Promise<void> {
  const now = engine.clock();
  const { id, configuration } = plan.target;
  for (const kind of TARGET_HOLD_KINDS) {
    const recordIds = plan.held[kind].map(({ recordId }) => recordId);
    if (recordIds.length === 0 && !plan.openHolds.has(kind)) continue;
    const expiresAt = now + configuration.guard.holdExpiresAfterHours * HOUR_MS;
    const exceededIn = kind === 'vanished' ? (plan.exceededIn ?? null) : null;
    await engine.holds.cover(id, kind, recordIds, { linkCount: plan.linkCount, exceededIn, now, expiresAt });
  }
  await engine.targetStore.recordGone(id, goneBy(plan), now);
  const { addedBytes = 0 } = plan;
  if (addedBytes > 0) await engine.storage.add(addedBytes);
  await engine.outbox.put(id, plan.permitted, { now, lease, run });
  await recordCreated(engine, plan, now);
  const plannedUnder = await engine.configVersion.join();
  // Withheld changes about people still differ as they did when links were rebuilt, so contents are not comparable yet.
  const compared = plan.held.people.length > 0 ? {} : { comparableUnder: plannedUnder };
  if (plan.reach === 'whole')
    await engine.targetStore.write(id, { lastPlannedAt: now, plannedUnder, ...compared, ...withheldOf(plan) });
  // A part of a reading cannot decide about earlier pending changes.
  else if (plan.waiting === 0) await engine.targetStore.write(id, { lastPlannedAt: now });
  await engine.outbox.abandon(id, plan.abandoned, lease);
  await engine.links.release(id, plan.released, lease);
  await engine.links.recordTimes(id, plan.timed, lease);
  const vanished = plan.permitted.filter(({ reason }) => reason === 'vanished').map(({ recordId }) => recordId);
  await engine.journal.unpin(id, [...vanished, ...plan.outlived]);
}

/** Records the objects that the plan creates: each may replace the object of a removed record. */
async function recordCreated(
  { recentObjects }: Pick<Engine, 'recentObjects'>,
  { target: { id, takesOver }, permitted }: TargetPlan<EngineTarget>,
  now: Instant,
): Promise<void> {
  const created = takesOver ? permitted.filter(({ reason }) => reason === 'new') : [];
  const recordIds = created.map(({ recordId }) => recordId);
  await recentObjects.recordCreated(id, recordIds, now);
}

/** Returns the records with a withheld change for the state. A suspect read says nothing about them. */
function withheldOf({ target, withheld, replacesAll }: TargetPlan) {
  if (target.configuration.policy === 'sync' || replacesAll) return {};
  return { notRemovedByPolicy: withheld.notRemoved, notUpdatedByPolicy: withheld.notUpdated };
}

/** Counts unapproved removals and restorations of the plan. Repeated removals of one record are counted each time. */
function goneBy({ permitted, approved, released, restoring }: TargetPlan): Record<GoneReason, number> {
  const restored = permitted.filter(({ recordId }) => restoring.has(recordId)).length;
  const counts = { cancelled: 0, excluded: 0, vanished: 0, released: released.length, restored };
  for (const change of permitted) {
    if (deletionClass(change) === null || approved.has(change.recordId)) continue;
    counts[change.reason === 'cancelled' || change.reason === 'vanished' ? change.reason : 'excluded'] += 1;
  }
  return counts;
}

/**
 * Stores the start of the reading as a target's freshness. The earlier time remains for a target with unchecked absent records, an unapproved
 * first run, a distrusted reading, or a replaced container. A target with gaps keeps its earlier time too; its other records are current.
 */
async function recordFreshness(
  engine: Engine,
  cycle: Cycle,
  plans: readonly TargetPlan<EngineTarget>[],
): Promise<void> {
  const { reading } = cycle;
  const all = gapsAfter(cycle.loadContext.gaps, plans);
  for (const plan of plans) {
    const { target, held, refused } = plan;
    const gaps = all.get(target.id) ?? [];
    logStopped(engine, plan);
    const { unconfirmed } = absencesOf(plan, cycle);
    // A list that cannot prove absence does not resolve earlier absences.
    const isAbsenceChecked = unconfirmed > 0 || reading.isWhole(target);
    await engine.targetStore.write(target.id, {
      gaps: gaps.length === 0 ? null : gaps,
      ...(isAbsenceChecked && { unconfirmed }),
    });
    if (unconfirmed > 0 || !reading.isWhole(target)) continue;
    const isLookedAtOnly = held['first-run'].length > 0 || refused.some(isFirstWrite);
    if (isLookedAtOnly || plan.replacesAll) continue;
    const { adoptedAt, failure } = await engine.targetStore.read(target.id);
    if (adoptedAt === null) continue;
    const heldBack = Object.values(held).flat().length;
    const { pending } = await engine.outbox.counts(target.id);
    const isQuiet = pending === 0 && heldBack === 0 && failure === null;
    const isInSync = isQuiet && gaps.length === 0 && !(await differsByHand(engine, target));
    const overtaken = cycle.loadContext.summaries.get(target.id)?.record.overtaken ?? 0;
    const asOf = reading.asOf(target);
    const tookMs = Math.max(0, engine.clock() - asOf);
    const fresh = { plannedAsOf: await engine.sharedTime(asOf), tookMs, isIdle: isInSync };
    await engine.targetStore.recordFreshness(target.id, overtaken, fresh);
  }
}

/** A rejected restoration concerns only its own object. */
function isFirstWrite({ wanted, reason }: PlannedChange): boolean {
  return wanted.want === 'present' && reason !== 'removed-by-hand';
}

/** Logs withheld records: only a developer can correct them. */
function logStopped({ log }: Pick<Engine, 'log'>, { target, omitted }: TargetPlan): void {
  const stopped = Object.fromEntries(egressStopped(omitted));
  if (Object.keys(stopped).length === 0) return;
  log.error({ target: target.id, stopped }, 'changes contain more personal data than the target allows: on hold');
}

/** Updates the time of the part that was read despite pending changes; the other times remain. */
async function recordPart(
  { sharedTime, targetStore }: Engine,
  { reading }: Cycle,
  plans: readonly TargetPlan[],
): Promise<void> {
  const soonAsOf = await sharedTime(reading.startedAt);
  for (const { target } of plans) await targetStore.write(target.id, { soonAsOf });
}

/** Numbers of a target's absent records, by the answers of single reads. */
export interface AbsenceCounts {
  vanished: number;
  stillThere: number;
  unconfirmed: number;
}

/** Counts the absent records of a target's plan. */
export function absencesOf(
  { target }: TargetPlan,
  { confirmations, toConfirm }: Pick<Cycle, 'confirmations' | 'toConfirm'>,
): AbsenceCounts {
  const confirmation = confirmations[target.stream] ?? nothingMissing<{ id: string }>();
  const absent = toConfirm.get(target.id) ?? [];
  const found = new Set(confirmation.found.map(({ id }) => id));
  const vanished = absent.filter((id) => confirmation.vanished.has(id)).length;
  const heldCount = absent.filter((id) => confirmation.held.has(id)).length;
  const stillThere = absent.filter((id) => found.has(id)).length;
  return { vanished, stillThere, unconfirmed: absent.length - vanished - stillThere - heldCount };
}

/** Returns each target's gaps after planning: earlier gaps, and records withheld by the outgoing data check or the limit of memory. */
export function gapsAfter(
  existing: ReadonlyMap<string, readonly TargetGap[]>,
  plans: readonly Pick<TargetPlan, 'target' | 'omitted'>[],
): ReadonlyMap<string, readonly TargetGap[]> {
  const all = new Map(existing);
  for (const { target, omitted } of plans) {
    const found = egressStopped(omitted);
    const count = found.reduce((sum, [, each]) => sum + each, 0);
    const gaps = [
      { code: 'egress-stopped', count, what: found.map(([code]) => code), soon: [] },
      { code: TENANT_TOO_LARGE, count: omitted[TENANT_TOO_LARGE] ?? 0, what: [], soon: [] },
    ] satisfies TargetGap[];
    const added = gaps.filter((gap) => gap.count > 0);
    if (added.length > 0) all.set(target.id, [...(existing.get(target.id) ?? []), ...added]);
  }
  return all;
}
