import type { CycleInput, TargetSetup } from '../domain/cycle-input.ts';
import { windowOf } from '../domain/mapping-sources.ts';
import type { TargetPlan } from '../domain/plan-targets.ts';
import { planTargets } from '../domain/plan-targets.ts';
import { isDecided } from '../engine/target-plan.ts';
import { inPieces } from '../http/in-pieces.ts';
import { spanned } from '../log/logger.ts';
import type { SkippedTarget } from '../model/plan-view.ts';
import type { Progress } from '../model/tasks.ts';
import type { Instant } from '../model/time.ts';
import type { Lease } from '../engine/store.ts';
import { type ClinicReader, readClinic } from '../domain/clinic-reading.ts';
import { type Cycle, remember } from './cycle.ts';
import { type CycleLoader, type Loaded, loadCycle, type Stores, saysMore, withResting } from './load.ts';
import { canStand, loadNext48h, type Next48hOptions, next48hCalendars } from './next-48h.ts';
import type { Opener } from './open-states.ts';
import { withinStorage } from './storage-limit.ts';
import { findDueStreams, readAllStreams, type StreamReader } from '../domain/streams.ts';
import type { ReadingScope } from './tenant.ts';
import { activeTargets, type OpenTarget, type OpenTenant } from './tenant.ts';

/** Maximum individual fetches of restored records that no list shows; the limit leaves capacity for absent records. */
const PINNED_READ_ALONE = 50;

/** Options of planning a cycle. */
export interface PlanOptions {
  /** Null for read-only use: no writes, no adoption. */
  lease: Lease | null;
  progress: Progress;
  /** Start of the cycle, if it may read only the next two days; absent: a full read. */
  pacedAt?: Instant;
  /** The CRMs' additional streams were just read. */
  justRead?: boolean;
}

/** Members of a tenant that planning a cycle uses. */
export type CyclePlanner = CycleLoader &
  ClinicReader &
  StreamReader &
  Pick<OpenTenant, 'planLifeMs' | 'pullEveryMs' | 'spans' | 'storage'>;

/**
 * Reads the clinic and plans every target, or at the pace's choice only calendars over the next two days. A separate job reads the CRMs'
 * additional streams, and missing streams are left out of the cycle. Read-only use reads everything itself.
 */
export async function planCycle(tenant: CyclePlanner, options: PlanOptions, signal: AbortSignal): Promise<Cycle> {
  const targets = activeTargets(tenant);
  const { lease, progress } = options;
  progress('reading the clinic');
  const extraScopes = await findExtraScopes(tenant, targets);
  // A requested cycle must also find changes that the clinic does not report.
  if (options.pacedAt === undefined) tenant.memory.appointments.distrust();
  const [last] = await tenant.runs.list(1);
  const next48hCycle = await planNext48h(tenant, targets, { ...options, extraScopes, last }, signal);
  if (next48hCycle !== null) return next48hCycle;
  const streams =
    lease === null
      ? await readAllStreams(tenant, targets, progress, signal)
      : (await findDueStreams(tenant, targets, { justRead: options.justRead ?? false, ...(last && { lastRun: last }) }))
          .streams;
  const loaded = await spanned(tenant.spans, 'cycle read', {}, async () => {
    const clinicReading = await readClinic(tenant, targets, { extraScopes, streams, ...(last && { last }) }, signal);
    const { unconfirmableCycles = 0 } = last ?? {};
    return loadCycle(tenant, targets, { clinicReading, lease, progress, unconfirmableCycles }, signal);
  });
  const cycle = await planWhole(tenant, targets, { some: loaded, lease }, signal);
  // A full read searches for missing records again, and an incomplete list is not reused from memory.
  const { unconfirmed, unlisted } = cycle.confirmations.appointments;
  if (unconfirmed + unlisted > 0) tenant.memory.appointments.distrust();
  // The clinic may soon add a missing id: do not wait an hour for the catalogue's next read.
  if ([...loaded.loadContext.gaps.values()].flat().some(({ code }) => code.endsWith('-unknown')))
    tenant.clinic.invalidate();
  return cycle;
}

/**
 * Plans calendars over the next two days.
 * @returns null if a full read is required
 */
async function planNext48h(
  tenant: CyclePlanner,
  targets: readonly OpenTarget[],
  { pacedAt: startedAt, ...options }: PlanOptions & Omit<Next48hOptions, 'openTargets'>,
  signal: AbortSignal,
): Promise<Cycle | null> {
  if (startedAt === undefined) return null;
  const calendars = await next48hCalendars(tenant, targets, { startedAt, last: options.last });
  const loaded =
    calendars &&
    (await spanned(tenant.spans, 'cycle read', {}, () =>
      loadNext48h(tenant, targets, { ...options, openTargets: calendars }, signal),
    ));
  const planned = loaded && (await planInput(tenant, loaded, signal));
  return loaded && planned?.plans.every(canStand) === true ? cycleOf(targets, loaded, planned) : null;
}

/** Plans targets with possible changes, and all targets if a plan makes the read suspect. */
async function planWhole(
  tenant: Opener & Stores & Pick<OpenTenant, 'memory' | 'spans' | 'storage'>,
  targets: readonly OpenTarget[],
  { some, lease }: { some: Loaded; lease: Lease | null },
  signal: AbortSignal,
): Promise<Cycle> {
  const first = await planInput(tenant, some, signal);
  const isEnough = some.resting.size === 0 || !first.plans.some(isSuspect);
  const loaded = isEnough ? some : await withResting(tenant, some, lease, signal);
  const planned = isEnough ? first : await planInput(tenant, loaded, signal);
  const { input, loadContext } = loaded;
  const states = new Map(input.targets.map(({ target, state }) => [target.id, state]));
  const plans = new Map(planned.plans.map((plan) => [plan.target.id, plan]));
  for (const target of targets) {
    const plan = plans.get(target.id);
    const state = saysMore(input.confirmations) ? null : (states.get(target.id) ?? null);
    if (plan !== undefined) remember(target, plan, state, loadContext);
    if (tenant.memory.appointments.isInvalidated) target.fingerprints.invalidate();
  }
  return cycleOf(targets, loaded, planned);
}

/** Plans, and targets with a failed plan. */
interface Planned {
  plans: TargetPlan[];
  failed: SkippedTarget[];
}

/** Plans the loaded input, and stores patients found gone for the next cycle. */
async function planInput(
  { log, spans, storage }: Pick<OpenTenant, 'log' | 'spans' | 'storage'>,
  { input, loadContext }: Loaded,
  signal: AbortSignal,
): Promise<Planned> {
  const planned = await spanned(spans, 'cycle plan', {}, () => inPieces(planTargets(input), signal));
  const { failed, gone } = planned;
  const isQuiet = planned.plans.every(({ passed }) => passed.length === 0);
  const plans = isQuiet ? planned.plans : await inPieces(withinStorage(planned.plans, await storage.read()), signal);
  for (const [contacts, patients] of gone) loadContext.clinicReading.streams.patients?.gone.set(contacts, patients);
  for (const [target, { code, actor }] of failed) log.warn({ target, code, actor }, 'target could not be planned');
  return { plans, failed: [...failed].map(([target, { code }]) => ({ target, code })) };
}

function cycleOf(targets: readonly OpenTarget[], loaded: Loaded, { plans, failed }: Planned): Cycle {
  const { input, loadContext, resting, skippedTargets, uncertainty } = loaded;
  const planned = new Map(plans.map((plan) => [plan.target.id, plan]));
  return {
    ...{
      clinicReading: loadContext.clinicReading,
      loadContext,
      confirmations: input.confirmations,
      uncertainty,
    },
    missing: new Map(input.targets.map(({ target, missing }) => [target.id, missing])),
    plans: targets.flatMap((target) => planned.get(target.id) ?? resting.get(target) ?? []),
    doneTargets: [...resting.keys()],
    skippedTargets: [...skippedTargets, ...failed],
    isPlain: uncertainty === null && isPlain(input, plans),
  };
}

/** Only for calendars: CRM targets always need a full read. */
function isPlain({ clinicReading, targets }: CycleInput, plans: readonly TargetPlan[]): boolean {
  const isCalendar = ({ target }: { target: TargetSetup }) => target.crm === null;
  return (
    clinicReading.snapshot.completeness === 'complete' &&
    plans.filter(isCalendar).every(isDecided) &&
    targets.filter(isCalendar).every(({ absent }) => absent.length === 0)
  );
}

/** Returns whether a plan makes the read suspect, which affects all targets. */
function isSuspect({ replaced, distrustsReading, reading }: TargetPlan): boolean {
  return replaced || distrustsReading || (reading?.decided ?? null) !== null;
}

/** Returns the followers' scopes, and all agendas if many records were restored, since their agendas may feed no target. */
async function findExtraScopes(
  { clock, followers, journal }: Pick<OpenTenant, 'clock' | 'followers' | 'journal'>,
  targets: readonly OpenTarget[],
): Promise<ReadingScope[]> {
  const now = clock();
  const readings = followers.map((follower) => follower.readingScope(now));
  for (const target of targets) {
    const { size } = await journal.pinned(target.id, now);
    if (size > PINNED_READ_ALONE) readings.push({ window: windowOf(target, now), agendas: 'all' });
  }
  return readings;
}
