import type { Confirmations } from '../domain/absence.ts';
import type { AgendaIndex } from '../domain/agenda-index.ts';
import { egressStopped } from '../domain/egress.ts';
import { windowOf } from '../domain/mapping-sources.ts';
import type { TargetPlan } from '../domain/plan-targets.ts';
import type { PushedState } from '../engine/diff.ts';
import { idleUntil } from '../engine/idle-target.ts';
import { NOTHING_PLANNED } from '../engine/target-plan.ts';
import type { Hold } from '../model/plan.ts';
import type { SkippedTarget } from '../model/plan-view.ts';
import type { TargetGap } from '../model/run-schemas.ts';
import type { Uncertainty } from '../model/state-schemas.ts';
import type { Instant } from '../model/time.ts';
import type { Lease } from '../engine/store.ts';
import type { TargetSummary } from '../engine/store.ts';
import type { ClinicReading } from '../domain/clinic-reading.ts';
import { TENANT_TOO_LARGE } from './storage-limit.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Data of a cycle before it opens the targets' states. */
export interface LoadContext {
  clinicReading: ClinicReading;
  byAgenda: AgendaIndex;
  /** Last time at which the state went back in time. */
  wentBackAt: Instant | null;
  /** Unreadable or unknown data, by target and by reminder rule. */
  gaps: ReadonlyMap<string, readonly TargetGap[]>;
  summaries: ReadonlyMap<string, TargetSummary>;
  holds: readonly Hold[];
  /** Version of the list of erased patients. */
  forgotten: string;
}

/** Data and plans of a cycle, before or after the commit. */
export interface Cycle {
  clinicReading: ClinicReading;
  confirmations: Confirmations;
  plans: TargetPlan[];
  /** Absent records of each target. */
  missing: ReadonlyMap<string, readonly string[]>;
  /** Targets without a new plan, because their input is unchanged; `plans` contains their plans. */
  doneTargets: readonly OpenTarget[];
  /** Data loaded before the targets' states. */
  loadContext: LoadContext;
  skippedTargets: readonly SkippedTarget[];
  /** Why the list of erased patients may be incomplete, or null. */
  uncertainty: Uncertainty | null;
  /** Whether no calendar record is absent, held or uncertain. */
  isPlain: boolean;
}

/**
 * Returns targets whose last plan had no changes and whose input is unchanged: appointments, links, erased patients and catalogue. No
 * change is pending, held or pinned, and no record entered or left the window.
 */
export async function plannedBefore(
  { journal }: Pick<OpenTenant, 'journal'>,
  targets: readonly OpenTarget[],
  loadContext: LoadContext,
): Promise<Map<OpenTarget, TargetPlan>> {
  const now = loadContext.clinicReading.startedAt;
  const candidates = targets.filter((target) => {
    const { idleTarget } = target;
    const isInTime = idleTarget !== null && idleTarget.fromAt <= now && now < idleTarget.untilAt;
    return isInTime && idleTarget.by === nameOf(target, loadContext) && isAtRest(target, loadContext);
  });
  const pinned = await Promise.all(candidates.map(({ id }) => journal.pinned(id, now)));
  const resting = candidates.filter((_, index) => pinned[index]?.size === 0);
  return new Map(
    resting.flatMap((target) => (target.idleTarget === null ? [] : [[target, planOf(target, loadContext)]])),
  );
}

/**
 * Stores the input of a plan without changes; deletes the stored input for other plans.
 * @param state state used in the comparison; null if the plan used more than lists and state
 */
export function remember(
  target: OpenTarget,
  plan: TargetPlan,
  state: PushedState | null,
  loadContext: LoadContext,
): void {
  target.idleTarget = null;
  if (state === null || target.crm !== null || !isAtRest(target, loadContext) || hasWork(plan)) return;
  const { clinicReading, byAgenda } = loadContext;
  const { agendas } = target.configuration;
  const own = new Map([...byAgenda.of(agendas)].map(({ id, time }) => [id, time]));
  const window = windowOf(target, clinicReading.startedAt);
  const untilAt = idleUntil({ own, state, window, now: clinicReading.startedAt });
  if (untilAt === null) return;
  const { agenda: _, ...omitted } = plan.omitted;
  const { unchanged, linkCount: links } = plan;
  target.idleTarget = {
    by: nameOf(target, loadContext),
    fromAt: clinicReading.startedAt,
    untilAt,
    links,
    unchanged,
    omitted,
  };
}

/** Stores the plan time of targets with unchanged input. */
export async function recordIdle(
  {
    clock,
    configVersion,
    sharedTime,
    targetStore,
  }: Pick<OpenTenant, 'clock' | 'configVersion' | 'sharedTime' | 'targetStore'>,
  { clinicReading, doneTargets, loadContext }: Cycle,
  lease: Lease,
): Promise<void> {
  const versions = new Map(
    doneTargets.flatMap(({ id }) => {
      const version = loadContext.summaries.get(id)?.linksVersion ?? null;
      return version === null ? [] : [[id, version]];
    }),
  );
  if (versions.size === 0) return;
  const idleRecord = {
    plannedAt: clock(),
    plannedUnder: await configVersion.join(),
    asOf: clinicReading.snapshot.completeness === 'complete' ? await sharedTime(clinicReading.startedAt) : null,
  };
  await targetStore.recordIdle(versions, idleRecord, lease);
}

function nameOf(
  { id, configuration }: OpenTarget,
  { clinicReading, byAgenda, summaries, forgotten }: LoadContext,
): string {
  const { linksVersion = null } = summaries.get(id) ?? {};
  return JSON.stringify([
    linksVersion,
    forgotten,
    clinicReading.clinic.catalogue,
    byAgenda.revisionOf(configuration.agendas),
  ]);
}

/** Returns whether only appointments and links determine a calendar's content. */
function isAtRest(target: OpenTarget, { clinicReading, gaps, summaries, holds, wentBackAt }: LoadContext): boolean {
  const summary = summaries.get(target.id);
  if (
    summary === undefined ||
    summary.linksVersion === null ||
    summary.pending > 0 ||
    target.preparedContainer === null
  )
    return false;
  const { adoptedAt, failure, wentBackAt: adoptedFor } = summary.record;
  const isAdopted = adoptedAt !== null && adoptedFor === wentBackAt && failure === null;
  // Names from the list of patients can change without an appointment.
  const isNamedByRows = clinicReading.directory.patients.size === 0;
  return isAdopted && isNamedByRows && !gaps.has(target.id) && holds.every((hold) => hold.target !== target.id);
}

/** Returns whether a plan has changes, holds, or pins. */
function hasWork(plan: TargetPlan): boolean {
  const { passed, held, refused, withheld, postponed, released, timed, abandoned, outlived } = plan;
  const lists = [
    passed,
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
    plan.replaced ||
    plan.distrustsReading ||
    lists.some((list) => list.length > 0)
  );
}

function planOf(target: OpenTarget, { clinicReading, byAgenda }: LoadContext): TargetPlan {
  const { links = 0, unchanged = 0, omitted = {} } = target.idleTarget ?? {};
  const { agendas } = target.configuration;
  const otherCount =
    agendas === 'all' ? 0 : byAgenda.countOverlapping(agendas, windowOf(target, clinicReading.startedAt));
  return {
    ...{ ...NOTHING_PLANNED, target, unchanged, linkCount: links },
    omitted: otherCount === 0 ? omitted : { ...omitted, agenda: otherCount },
  };
}
