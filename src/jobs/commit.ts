import { egressStopped } from '../domain/egress.ts';
import { snapshotOf, streamsOf, tombstonesIn } from '../domain/mapping-sources.ts';
import type { TargetPlan } from '../domain/plan-targets.ts';
import type { Confirmation } from '../engine/absence.ts';
import { deletionClass, type GoneReason } from '../engine/guard.ts';
import { type MirrorError, storedError } from '../model/errors.ts';
import { type PlannedChange, TARGET_HOLD_KINDS } from '../model/plan.ts';
import type { HourlyChanges, TargetRun } from '../model/run-schemas.ts';
import type { SnapshotContent } from '../model/snapshots.ts';
import { HOUR_MS, type Instant } from '../model/time.ts';
import { withLastPatients, withVisits } from '../model/visits.ts';
import type { Lease } from '../engine/store.ts';
import { NO_CHANGES, type Pace, type RunReport, runIdOf, withChanges } from '../state/runs.ts';
import { recordMisses, unconfirmableAfter } from './absence.ts';
import type { ClinicReading } from '../domain/clinic-reading.ts';
import { gapsAfter } from '../domain/clinic-reading.ts';
import { type Cycle, recordIdle } from './cycle.ts';
import { paceOf } from './next-48h.ts';
import { AWAITING, differsByHand } from './open-states.ts';
import { OUTAGE_CODES } from './outages.ts';
import { countAgain, waitsForRoom } from './storage-limit.ts';
import { asOf, streamsRead } from '../domain/streams.ts';
import { activeTargets, type Learned, type OpenTarget, type OpenTenant } from './tenant.ts';

/** Stores that receive a plan. */
type Committed = Pick<
  OpenTenant,
  'clock' | 'configVersion' | 'holds' | 'journal' | 'links' | 'log' | 'outbox' | 'sharedTime' | 'targetStore'
> &
  Pick<OpenTenant, 'recentObjects' | 'storage'>;

/** Members of a tenant that a cycle's commit uses. */
export type CycleCommitter = Committed & Pick<OpenTenant, 'followers' | 'protection' | 'targets'>;

/**
 * Writes a cycle to the state: protection of patients first, then each target, then data for the next cycle.
 * @param wake receives each target with new writes as soon as the lane may write them
 */
export async function commitCycle(
  tenant: CycleCommitter,
  cycle: Cycle,
  lease: Lease,
  { run, wake }: { run: string; wake(target: string): Promise<void> },
): Promise<void> {
  const isMoving = ({ id }: { id: string }) => cycle.doneTargets.every((target) => target.id !== id);
  await recordProtection(tenant, activeTargets(tenant).filter(isMoving), cycle);
  const moving = cycle.plans.filter(({ target }) => isMoving(target));
  for (const plan of moving) {
    await commitPlan(tenant, plan, lease, run);
    if (plan.passed.length > 0) await wake(plan.target.id);
  }
  await countAgain(tenant, moving);
  await recordIdle(tenant, cycle, lease);
  await recordMisses(tenant.targetStore, cycle);
  await (cycle.clinicReading.reach === 'near' ? recordNext48h : recordFreshness)(tenant, cycle, moving);
  const isForeign = cycle.plans.some(({ replaced, target }) => replaced && target.stream === 'appointments');
  if (isForeign) return;
  for (const follower of tenant.followers) await follower.follow(learnedOf(cycle));
}

/** Copies the protection data, and records that this state has seen all of the data. */
async function recordProtection(
  { targetStore, protection, log }: Pick<OpenTenant, 'targetStore' | 'protection' | 'log'>,
  targets: readonly OpenTarget[],
  { uncertainty, clinicReading: { startedAt } }: Pick<Cycle, 'uncertainty' | 'clinicReading'>,
): Promise<void> {
  const stored = await Promise.all(targets.map(({ id }) => targetStore.read(id)));
  const allSeen = uncertainty === null && stored.every(({ adoptedAt }) => adoptedAt !== null);
  await protection.cycleEnded({ allSeen, startedAt });
  if (uncertainty === null) return void (await protection.copyOut());
  log.error(
    uncertainty,
    'list of forgotten patients is uncertain: patient data is not written or sent until an administrator decides',
  );
}

/** Writes a target's plan to the state: outbox, holds, released links, counts of the guard. */
async function commitPlan(tenant: Committed, plan: TargetPlan, lease: Lease, run: string): Promise<void> {
  const now = tenant.clock();
  const { id, configuration } = plan.target;
  for (const kind of TARGET_HOLD_KINDS) {
    const recordIds = plan.held[kind].map(({ recordId }) => recordId);
    if (recordIds.length === 0 && !plan.openHolds.has(kind)) continue;
    const expiresAt = now + configuration.guard.holdExpiresAfterHours * HOUR_MS;
    const exceededIn = kind === 'vanished' ? (plan.exceededIn ?? null) : null;
    await tenant.holds.cover(id, kind, recordIds, { linkCount: plan.linkCount, exceededIn, now, expiresAt });
  }
  await tenant.targetStore.recordGone(id, goneBy(plan), now);
  const { addedBytes = 0 } = plan;
  if (addedBytes > 0) await tenant.storage.add(addedBytes);
  await tenant.outbox.put(id, plan.passed, { now, lease, run });
  await recordCreated(tenant, plan, now);
  const plannedUnder = await tenant.configVersion.join();
  // Withheld changes of patients still differ as they did when links were rebuilt, so contents are not comparable yet.
  const compared = plan.held.people.length > 0 ? {} : { comparableUnder: plannedUnder };
  if (plan.reach === 'whole')
    await tenant.targetStore.write(id, { lastPlannedAt: now, plannedUnder, ...compared, ...withheldOf(plan) });
  // A read of two days cannot decide about earlier pending changes.
  else if (plan.waiting === 0) await tenant.targetStore.write(id, { lastPlannedAt: now });
  await tenant.outbox.abandon(id, plan.abandoned, lease);
  await tenant.links.release(id, plan.released, lease);
  await tenant.links.recordTimes(id, plan.timed, lease);
  const vanished = plan.passed.filter(({ reason }) => reason === 'vanished').map(({ recordId }) => recordId);
  await tenant.journal.unpin(id, [...vanished, ...plan.outlived]);
}

/** Records the events that the plan creates in a calendar: each may replace the event of a removed appointment. */
async function recordCreated(
  { recentObjects }: Pick<OpenTenant, 'recentObjects'>,
  { target: { id, crm }, passed }: TargetPlan,
  now: Instant,
): Promise<void> {
  const created = crm === null ? passed.filter(({ reason }) => reason === 'new') : [];
  const recordIds = created.map(({ recordId }) => recordId);
  await recentObjects.recordCreated(id, recordIds, now);
}

/** Returns the records with a withheld change for the state. A suspect read says nothing about them. */
function withheldOf({ target, withheld, replaced }: TargetPlan) {
  if (target.configuration.policy === 'sync' || replaced) return {};
  return { notRemovedByPolicy: withheld.notRemoved, notUpdatedByPolicy: withheld.notUpdated };
}

/** Counts unapproved removals and restorations of the plan. Repeated removals of one record are counted each time. */
function goneBy({ passed, approved, released, restoring }: TargetPlan): Record<GoneReason, number> {
  const restored = passed.filter(({ recordId }) => restoring.has(recordId)).length;
  const counts = { cancelled: 0, excluded: 0, vanished: 0, released: released.length, restored };
  for (const change of passed) {
    if (deletionClass(change) === null || approved.has(change.recordId)) continue;
    counts[change.reason === 'cancelled' || change.reason === 'vanished' ? change.reason : 'excluded'] += 1;
  }
  return counts;
}

/** A distrusted read does not remove a follower's appointment. */
function learnedOf({ clinicReading, confirmations, plans }: Cycle): Learned {
  const { found, vanished: gone } = confirmations.appointments;
  const isSuspect = plans.some(({ distrustsReading, target }) => distrustsReading && target.stream === 'appointments');
  // Cancellations and deletions reported by the clinic are not absences.
  const vanished = new Set([...(isSuspect ? [] : gone), ...tombstonesIn(clinicReading.snapshot)]);
  const { snapshot, directory, reach } = clinicReading;
  const isWhole = reach === 'whole' && snapshot.completeness === 'complete';
  return {
    ...withLastPatients(withVisits(snapshot).records, vanished),
    found,
    coveredUntilAt: isWhole ? snapshot.window.toAt : null,
    directory,
  };
}

/**
 * Stores the read time as a target's freshness. The earlier time remains for a target with unchecked absent records, an unapproved first
 * run, a distrusted read, or a replaced calendar. A target with gaps keeps its earlier time too; its other records are current.
 */
async function recordFreshness(tenant: Committed, cycle: Cycle, plans: readonly TargetPlan[]): Promise<void> {
  const { clinicReading } = cycle;
  const all = gapsAfter(cycle.loadContext.gaps, plans);
  for (const plan of plans) {
    const gaps = all.get(plan.target.id) ?? [];
    logStopped(tenant, plan);
    const { unconfirmed } = targetRun(plan, cycle);
    // A list that cannot prove absence does not resolve earlier absences.
    const isAbsenceChecked = unconfirmed > 0 || isWhole(clinicReading, plan.target);
    await tenant.targetStore.write(plan.target.id, {
      gaps: gaps.length === 0 ? null : gaps,
      ...(isAbsenceChecked && { unconfirmed }),
    });
    if (unconfirmed > 0 || !isWhole(clinicReading, plan.target)) continue;
    const { target, held, refused } = plan;
    const isLookedAtOnly = held['first-run'].length > 0 || refused.some(isFirstWrite);
    if (isLookedAtOnly || plan.replaced) continue;
    const { adoptedAt, failure } = await tenant.targetStore.read(target.id);
    if (adoptedAt === null) continue;
    const heldBack = Object.values(held).flat().length;
    const { pending } = await tenant.outbox.counts(target.id);
    const isQuiet = pending === 0 && heldBack === 0 && failure === null;
    const isInSync = isQuiet && gaps.length === 0 && !(await differsByHand(tenant, target));
    const overtaken = cycle.loadContext.summaries.get(target.id)?.record.overtaken ?? 0;
    const fresh = { plannedAsOf: await tenant.sharedTime(asOf(target, clinicReading)), isIdle: isInSync };
    await tenant.targetStore.recordFreshness(target.id, overtaken, fresh);
  }
}

/** A rejected restoration concerns only its own object. */
function isFirstWrite({ wanted, reason }: PlannedChange): boolean {
  return wanted.want === 'present' && reason !== 'removed-by-hand';
}

/** Logs withheld records: only a developer can correct them. */
function logStopped({ log }: Pick<OpenTenant, 'log'>, { target, omitted }: TargetPlan): void {
  const stopped = Object.fromEntries(egressStopped(omitted));
  if (Object.keys(stopped).length === 0) return;
  log.error({ target: target.id, stopped }, 'changes contain more patient data than the target allows: on hold');
}

/** Updates the time of the next two days despite pending changes; the other times remain. */
async function recordNext48h(
  { sharedTime, targetStore }: Pick<OpenTenant, 'sharedTime' | 'targetStore'>,
  { clinicReading }: Cycle,
  plans: readonly TargetPlan[],
): Promise<void> {
  const soonAsOf = await sharedTime(clinicReading.startedAt);
  for (const { target } of plans) await targetStore.write(target.id, { soonAsOf });
}

/** Returns whether all streams of a target were read completely. */
function isWhole(clinicReading: ClinicReading, target: TargetPlan['target']): boolean {
  const { streams, snapshot } = clinicReading;
  if (streamsOf(target).some((name) => streams[name] === null)) return false;
  const needed = streamsOf(target).map((name) => (name === 'history' ? snapshot : streams[name]?.snapshot));
  return [snapshotOf(clinicReading, target), ...needed].every((one) => one?.completeness === 'complete');
}

const SHOWN_EXAMPLES = 20;

/** Writes a cycle's report: counts and codes, with the error that ended the cycle. */
export async function reportRun(
  tenant: Pick<OpenTenant, 'id' | 'clinic' | 'clock' | 'memory' | 'outages' | 'pullEveryMs' | 'runs' | 'tombstones'>,
  startedAt: number,
  cycle: Cycle | null,
  error: MirrorError | null,
): Promise<RunReport> {
  const snapshot = cycle?.clinicReading.snapshot ?? null;
  const { patients, invoices } = cycle?.clinicReading.streams ?? {};
  const invalid = [snapshot, patients?.snapshot, invoices?.snapshot].flatMap((one) =>
    (one?.unusable ?? []).filter(({ isTombstone }) => isTombstone !== true),
  );
  const unknown = new Set<string>();
  for (const { status, rawStatus } of snapshot?.records.values() ?? []) {
    if (status === 'unknown') unknown.add(rawStatus ?? '(none)');
  }
  const [previous] = await tenant.runs.list(1);
  const mostReports = waitsForRoom(cycle?.plans ?? []) ? 1 : undefined;
  // The clinic answers again, also for other tenants with failed cycles.
  if (cycle !== null && OUTAGE_CODES.has(previous?.error?.code ?? '')) await tenant.outages.endByCycle(tenant.id);
  const pace = paceOf(previous, startedAt, tenant.pullEveryMs);
  if (cycle?.clinicReading.reach === 'near' && previous !== undefined) {
    const run = { ...previous, ...next48hRun({ startedAt, finishedAt: tenant.clock() }, cycle, { previous, pace }) };
    await tenant.runs.add(run, mostReports);
    return run;
  }
  const remarks = cycle === null ? (previous?.remarks ?? []) : tenant.clinic.remarks();
  const isForgotten = await tenant.tombstones.load();
  const examples = invalid.slice(0, SHOWN_EXAMPLES);
  const run: RunReport = {
    id: runIdOf(startedAt),
    startedAt,
    finishedAt: tenant.clock(),
    snapshot:
      snapshot === null
        ? null
        : {
            completeness: snapshot.completeness,
            reason: snapshot.completeness === 'partial' ? snapshot.reason : null,
            records: snapshot.records.size,
            requests: snapshot.requests,
            ...(snapshot.repeated > 0 && { repeated: snapshot.repeated }),
          },
    soon: null,
    pace: { ...pace, soonSince: 0, isPlain: cycle?.isPlain ?? false },
    hourly: hourlyAfter(previous, startedAt, cycle),
    unusable: countBy(invalid, ({ code }) => code),
    unusableExamples: examples.map(({ recordId, code, field }) => ({
      recordId: isForgotten(recordId ?? '') ? null : recordId,
      code,
      field,
    })),
    unread: unreadIn({ appointments: snapshot, patients: patients?.snapshot, invoices: invoices?.snapshot }),
    unknownStatuses: [...unknown].slice(0, SHOWN_EXAMPLES),
    ...(remarks.length > 0 && { remarks }),
    withheld: cycle?.clinicReading.withheld ?? [],
    gaps: cycle === null ? {} : Object.fromEntries(gapsAfter(cycle.loadContext.gaps, cycle.plans)),
    ...unconfirmableIn(previous, cycle),
    clinic: cycle?.clinicReading.clinic ?? previous?.clinic ?? null,
    // Keep the last planned read after a failure; otherwise a process with an older read would plan by it.
    read: { ...previous?.read, ...(cycle === null ? {} : streamsRead(cycle.clinicReading.streams)) },
    crmPlanner: cycle !== null && hadCrms(cycle) ? tenant.memory.process : (previous?.crmPlanner ?? null),
    awaiting: cycle?.skippedTargets.flatMap(({ target, code }) => (code === AWAITING ? [target] : [])) ?? [],
    targets: cycle === null ? [] : cycle.plans.map((plan) => targetRun(plan, cycle)),
    error: error === null ? null : storedError(error, tenant.id),
  };
  await tenant.runs.add(run, mostReports);
  return run;
}

/** Keeps the count of the previous report after a failed cycle. Absent for 0. */
function unconfirmableIn(previous: RunReport | undefined, cycle: Cycle | null): Pick<RunReport, 'unconfirmableCycles'> {
  const before = previous?.unconfirmableCycles ?? 0;
  const unconfirmableCycles = cycle === null ? before : unconfirmableAfter(cycle.confirmations, before);
  return unconfirmableCycles === 0 ? {} : { unconfirmableCycles };
}

function unreadIn(snapshots: Record<string, Pick<SnapshotContent<unknown>, 'unread'> | null | undefined>) {
  const counts = Object.entries(snapshots).flatMap(([stream, snapshot]) =>
    Object.entries(snapshot?.unread ?? {}).map(([field, count]) => [`${stream}.${field}`, count] as const),
  );
  return Object.fromEntries(counts);
}

function hourlyAfter(previous: RunReport | undefined, at: Instant, cycle: Cycle | null): HourlyChanges {
  const changes = cycle?.plans.reduce((sum, { passed }) => sum + passed.length, 0) ?? 0;
  return withChanges(previous?.hourly ?? NO_CHANGES, at, changes);
}

/** Returns whether CRMs were planned, or their streams failed: the same process then continues with CRMs. */
function hadCrms({ plans, clinicReading }: Cycle): boolean {
  return clinicReading.streams.failed.size > 0 || plans.some(({ target }) => target.crm !== null);
}

/** Updates the last full report with a cycle over the next two days. */
function next48hRun(
  { startedAt, finishedAt }: { startedAt: number; finishedAt: number },
  cycle: Cycle,
  { previous, pace }: { previous: RunReport; pace: Pace },
): Partial<RunReport> {
  const { clinicReading, plans } = cycle;
  const planned = new Map(plans.map((plan) => [plan.target.id, plan]));
  const nothing = { held: 0, confirmed: 0, stillThere: 0, unconfirmed: 0 };
  return {
    ...{ id: runIdOf(startedAt), startedAt, finishedAt, error: null, clinic: clinicReading.clinic },
    soon: { records: clinicReading.snapshot.records.size, requests: clinicReading.snapshot.requests },
    pace: { ...pace, soonSince: pace.soonSince + 1 },
    hourly: hourlyAfter(previous, startedAt, cycle),
    targets: previous.targets.map((run) => ({
      ...run,
      ...nothing,
      planned: countBy(planned.get(run.target)?.passed ?? [], ({ reason }) => reason),
      released: planned.get(run.target)?.released.length ?? 0,
    })),
  };
}

/** Returns a target's numbers for the report. */
function targetRun(plan: TargetPlan, { confirmations, missing }: Pick<Cycle, 'confirmations' | 'missing'>): TargetRun {
  const confirmation: Confirmation<{ id: string }> = confirmations[plan.target.stream];
  const absent = missing.get(plan.target.id) ?? [];
  const found = new Set(confirmation.found.map(({ id }) => id));
  const vanished = absent.filter((id) => confirmation.vanished.has(id)).length;
  const heldCount = absent.filter((id) => confirmation.present.has(id)).length;
  const stillThere = absent.filter((id) => found.has(id)).length;
  return {
    target: plan.target.id,
    planned: countBy(plan.passed, ({ reason }) => reason),
    held: Object.values(plan.held).flat().length,
    released: plan.released.length,
    unchanged: plan.unchanged,
    confirmed: vanished + stillThere,
    stillThere,
    unconfirmed: absent.length - vanished - stillThere - heldCount,
    omitted: { ...plan.omitted },
    unusable: { ...plan.unusable },
  };
}

function countBy<Entry>(entries: readonly Entry[], nameOf: (entry: Entry) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of entries) counts[nameOf(entry)] = (counts[nameOf(entry)] ?? 0) + 1;
  return counts;
}
