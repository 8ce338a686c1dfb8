import { type MirrorError, storedError } from '../model/errors.ts';
import type { SnapshotContent } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import {
  type HourlyChanges,
  NO_CHANGES,
  type Pace,
  type RunReport,
  runIdOf,
  type TargetRun,
  withChanges,
} from '../state/runs.ts';
import type { Confirmation } from '../sync/absence.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import type { Cycle } from './cycle.ts';
import { gapsAfter } from './gaps.ts';
import { AWAITING } from './open-states.ts';
import { OUTAGE_CODES } from './outages.ts';
import { paceOf } from './pace.ts';
import { streamsRead } from './streams.ts';
import type { OpenTenant } from './tenant.ts';

const SHOWN_EXAMPLES = 20;

/** Writes a cycle's report: counts and codes, with the error that ended it early, if one did. */
export async function reportRun(
  tenant: Pick<OpenTenant, 'id' | 'clinic' | 'clock' | 'memory' | 'outages' | 'pullEveryMs' | 'runs' | 'tombstones'>,
  startedAt: number,
  cycle: Cycle | null,
  error: MirrorError | null,
): Promise<RunReport> {
  const snapshot = cycle?.clinicReading.snapshot ?? null;
  const { patients, invoices } = cycle?.clinicReading.streams ?? {};
  const invalid = [snapshot, patients?.snapshot, invoices?.snapshot].flatMap((one) =>
    (one?.setAside ?? []).filter(({ isTombstone }) => isTombstone !== true),
  );
  const unknown = new Set<string>();
  for (const { status, rawStatus } of snapshot?.records.values() ?? []) {
    if (status === 'unknown') unknown.add(rawStatus ?? '(none)');
  }
  const [previous] = await tenant.runs.list(1);
  // The clinic answers again: so it does to the other tenants whose cycles failed.
  if (cycle !== null && OUTAGE_CODES.has(previous?.error?.code ?? '')) await tenant.outages.endByCycle(tenant.id);
  const pace = paceOf(previous, startedAt, tenant.pullEveryMs);
  if (cycle?.clinicReading.reach === 'near' && previous !== undefined) {
    const run = { ...previous, ...next48hRun({ startedAt, finishedAt: tenant.clock() }, cycle, { previous, pace }) };
    await tenant.runs.add(run);
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
    near: null,
    pace: { ...pace, nearSince: 0, isPlain: cycle?.isPlain ?? false },
    hourly: hourlyAfter(previous, startedAt, cycle),
    setAside: countBy(invalid, ({ code }) => code),
    setAsideExamples: examples.map(({ recordId, code, field }) => ({
      recordId: isForgotten(recordId ?? '') ? null : recordId,
      code,
      field,
    })),
    unread: unreadIn({ appointments: snapshot, patients: patients?.snapshot, invoices: invoices?.snapshot }),
    unknownStatuses: [...unknown].slice(0, SHOWN_EXAMPLES),
    ...(remarks.length > 0 && { remarks }),
    withheld: cycle?.clinicReading.withheld ?? [],
    gaps: cycle === null ? {} : Object.fromEntries(gapsAfter(cycle.basis.gaps, cycle.plans)),
    clinic: cycle?.clinicReading.clinic ?? previous?.clinic ?? null,
    // What was planned by last stays known when a reading fails: else a process with an older one would plan by that one.
    read: { ...previous?.read, ...(cycle === null ? {} : streamsRead(cycle.clinicReading.streams)) },
    crmPlanner: cycle !== null && hadCrms(cycle) ? tenant.memory.process : (previous?.crmPlanner ?? null),
    awaiting: cycle?.left.flatMap(({ target, code }) => (code === AWAITING ? [target] : [])) ?? [],
    targets: cycle === null ? [] : cycle.plans.map((plan) => targetRun(plan, cycle)),
    error: error === null ? null : storedError(error, tenant.id),
  };
  await tenant.runs.add(run);
  return run;
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

/** Whether CRMs were planned, or what they follow can't be read: who tried goes on trying. */
function hadCrms({ plans, clinicReading }: Cycle): boolean {
  return clinicReading.streams.failed.size > 0 || plans.some(({ target }) => target.crm !== null);
}

/** What a cycle over the next two days changes of the report of the last one that read all. */
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
    near: { records: clinicReading.snapshot.records.size, requests: clinicReading.snapshot.requests },
    pace: { ...pace, nearSince: pace.nearSince + 1 },
    hourly: hourlyAfter(previous, startedAt, cycle),
    targets: previous.targets.map((run) => ({
      ...run,
      ...nothing,
      planned: countBy(planned.get(run.target)?.passed ?? [], ({ reason }) => reason),
      released: planned.get(run.target)?.released.length ?? 0,
    })),
  };
}

/** What a cycle meant for one target, in numbers. */
export function targetRun(
  plan: TargetPlan,
  { confirmations, missing }: Pick<Cycle, 'confirmations' | 'missing'>,
): TargetRun {
  const confirmation: Confirmation<{ id: string }> = confirmations[plan.target.stream];
  const absent = missing.get(plan.target.id) ?? [];
  const found = new Set(confirmation.found.map(({ id }) => id));
  const vanished = absent.filter((id) => confirmation.vanished.has(id)).length;
  const heldCount = absent.filter((id) => confirmation.kept.has(id)).length;
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
    leftOut: { ...plan.leftOut },
    unusable: { ...plan.unusable },
  };
}

function countBy<Entry>(entries: readonly Entry[], nameOf: (entry: Entry) => string): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const entry of entries) counts[nameOf(entry)] = (counts[nameOf(entry)] ?? 0) + 1;
  return counts;
}
