import { type MirrorError, storedError } from '../core/model/errors.ts';
import type { HourlyChanges, ReadingRemark, TargetRun } from '../core/model/run-schemas.ts';
import type { SnapshotContent } from '../core/model/snapshots.ts';
import type { Clock, Instant } from '../core/model/time.ts';
import { absencesOf, gapsAfter } from '../engine/commit.ts';
import { unconfirmableAfter } from '../engine/confirm.ts';
import { OUTAGE_CODES } from '../engine/lane.ts';
import type { Cycle } from '../engine/memo.ts';
import type { EngineTarget } from '../engine/ports.ts';
import { waitsForRoom } from '../engine/storage-limit.ts';
import type { TargetPlan } from '../engine/target-plan.ts';
import type { TombstoneStore } from '../state/tombstones.ts';
import { AWAITING, type ClinicReading } from './clinic-reading.ts';
import { paceOf } from './pace.ts';
import { NO_CHANGES, type Pace, type RunReport, type RunStore, runIdOf, withChanges } from './runs.ts';
import { streamsRead } from './streams.ts';

/** A cycle of a clinic. */
type ClinicCycle = Cycle<EngineTarget & { crm: unknown }, ClinicReading>;

/** What writing a report uses. */
export interface ReportContext {
  id: string;
  clinic: { remarks(): ReadingRemark[] };
  clock: Clock;
  memory: { process: string | null };
  outages: { endByCycle(tenant: string): Promise<void> };
  /** Interval of cycles. */
  pullEveryMs: number;
  runs: Pick<RunStore, 'add' | 'list'>;
  tombstones: Pick<TombstoneStore, 'load'>;
}

const SHOWN_EXAMPLES = 20;

/** Writes a cycle's report: counts and codes, with the error that ended the cycle. */
export async function reportRun(
  tenant: ReportContext,
  startedAt: number,
  cycle: ClinicCycle | null,
  error: MirrorError | null,
): Promise<RunReport> {
  const snapshot = cycle?.reading.snapshot ?? null;
  const { patients, invoices } = cycle?.reading.streams ?? {};
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
  if (cycle?.reading.reach === 'near' && previous !== undefined) {
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
    withheld: cycle?.reading.withheld ?? [],
    gaps: cycle === null ? {} : Object.fromEntries(gapsAfter(cycle.loadContext.gaps, cycle.plans)),
    ...unconfirmableIn(previous, cycle),
    clinic: cycle?.reading.clinic ?? previous?.clinic ?? null,
    // Keep the last planned read after a failure; otherwise a process with an older read would plan by it.
    read: { ...previous?.read, ...(cycle === null ? {} : streamsRead(cycle.reading.streams)) },
    crmPlanner: cycle !== null && hadCrms(cycle) ? tenant.memory.process : (previous?.crmPlanner ?? null),
    awaiting: cycle?.skippedTargets.flatMap(({ target, code }) => (code === AWAITING ? [target] : [])) ?? [],
    targets: cycle === null ? [] : cycle.plans.map((plan) => targetRun(plan, cycle)),
    error: error === null ? null : storedError(error, tenant.id),
  };
  await tenant.runs.add(run, mostReports);
  return run;
}

/** Keeps the count of the previous report after a failed cycle. Absent for 0. */
function unconfirmableIn(
  previous: RunReport | undefined,
  cycle: ClinicCycle | null,
): Pick<RunReport, 'unconfirmableCycles'> {
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

function hourlyAfter(previous: RunReport | undefined, at: Instant, cycle: ClinicCycle | null): HourlyChanges {
  const changes = cycle?.plans.reduce((sum, { permitted }) => sum + permitted.length, 0) ?? 0;
  return withChanges(previous?.hourly ?? NO_CHANGES, at, changes);
}

/** Returns whether CRMs were planned, or their streams failed: the same process then continues with CRMs. */
function hadCrms({ plans, reading }: ClinicCycle): boolean {
  return reading.streams.failed.size > 0 || plans.some(({ target }) => target.crm !== null);
}

/** Updates the last full report with a cycle over the next two days. */
function next48hRun(
  { startedAt, finishedAt }: { startedAt: number; finishedAt: number },
  cycle: ClinicCycle,
  { previous, pace }: { previous: RunReport; pace: Pace },
): Partial<RunReport> {
  const { reading, plans } = cycle;
  const planned = new Map(plans.map((plan) => [plan.target.id, plan]));
  const nothing = { held: 0, confirmed: 0, stillThere: 0, unconfirmed: 0 };
  return {
    ...{ id: runIdOf(startedAt), startedAt, finishedAt, error: null, clinic: reading.clinic },
    soon: { records: reading.snapshot.records.size, requests: reading.snapshot.requests },
    pace: { ...pace, soonSince: pace.soonSince + 1 },
    hourly: hourlyAfter(previous, startedAt, cycle),
    targets: previous.targets.map((run) => ({
      ...run,
      ...nothing,
      planned: countBy(planned.get(run.target)?.permitted ?? [], ({ reason }) => reason),
      released: planned.get(run.target)?.released.length ?? 0,
    })),
  };
}

/** Returns a target's numbers for the report. */
function targetRun(plan: TargetPlan, cycle: ClinicCycle): TargetRun {
  const { vanished, stillThere, unconfirmed } = absencesOf(plan, cycle);
  return {
    target: plan.target.id,
    planned: countBy(plan.permitted, ({ reason }) => reason),
    held: Object.values(plan.held).flat().length,
    released: plan.released.length,
    unchanged: plan.unchanged,
    confirmed: vanished + stillThere,
    stillThere,
    unconfirmed,
    omitted: { ...plan.omitted },
    unusable: { ...plan.unusable },
  };
}

function countBy<Entry>(entries: readonly Entry[], nameOf: (entry: Entry) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of entries) counts[nameOf(entry)] = (counts[nameOf(entry)] ?? 0) + 1;
  return counts;
}
