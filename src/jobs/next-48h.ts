import { hash } from 'node:crypto';
import type { Confirmations } from '../domain/absence.ts';
import { indexByAgenda } from '../domain/agenda-index.ts';
import { missingFrom } from '../domain/mapping-sources.ts';
import type { TargetPlan } from '../domain/plan-targets.ts';
import { nothingMissing } from '../engine/absence.ts';
import { isDecided } from '../engine/target-plan.ts';
import { message } from '../messages/message.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import { FIRST_PACE, type Pace, type RunReport } from '../state/runs.ts';
import type { TargetSummary } from '../engine/store.ts';
import { type ClinicReader, readClinic } from '../domain/clinic-reading.ts';
import { inputOf, type Loaded, type Loading, lookAround, openAll, type Stores } from './load.ts';
import type { Opener } from './open-states.ts';
import { NO_STREAMS } from '../domain/streams.ts';
import type { OpenTarget, OpenTenant, ReadingScope } from './tenant.ts';

/** Delay after which a cycle is late: a share of the interval, and at least this time. */
const LATE = { share: 0.1, leastMs: 30 * SECOND_MS };
/** Maximum delay of a punctual cycle, as a share of the interval. */
const IN_TIME_SHARE = 0.05;
/** A single late cycle may result from a suspended host. */
const LATE_CYCLES = 2;
/** After this number of consecutive punctual cycles there is spare capacity, and earlier late cycles are ignored. */
const IN_TIME_IN_TURN = 3;
/** Maximum reduction of full reads in one step once some cycles read only the next two days, because further steps gain little. */
const LARGEST_STEP = 1.5;
/** More of these cycles make the next two days little fresher, and all other data much older. */
const MOST_NEXT_48H_PER_WHOLE = 12;

/**
 * Returns the pace of a cycle from the start of the previous one. Cycles of a client queue for its request budget, so cycles start late if
 * the budget is too small. In proportion to the delay, fewer cycles read everything; punctual cycles increase the number again.
 * @param before the last cycle's report; absent before the first
 * @param everyMs configured interval of cycles
 */
export function paceOf(
  before: Pick<RunReport, 'pace' | 'startedAt'> | undefined,
  startedAt: Instant,
  everyMs: number,
): Pace {
  if (before === undefined) return FIRST_PACE;
  const { pace } = before;
  const intervalMs = startedAt - before.startedAt;
  // A request started an extra cycle, or the clock was set back.
  if (intervalMs < everyMs / 2) return pace;
  if (intervalMs > everyMs + Math.max(everyMs * LATE.share, LATE.leastMs)) {
    const late = pace.late + 1;
    return late < LATE_CYCLES ? { ...pace, late, inTime: 0 } : slower(pace, startedAt, intervalMs / everyMs);
  }
  const inTime = intervalMs <= everyMs * (1 + IN_TIME_SHARE) ? pace.inTime + 1 : 0;
  if (inTime < IN_TIME_IN_TURN) return { ...pace, inTime };
  return changed(pace, startedAt, Math.max(0, pace.soonPerWhole - 1));
}

/** The interval equals the duration of all cycles' requests, and full reads must decrease in proportion. */
function slower(pace: Pace, startedAt: Instant, times: number): Pace {
  const step = pace.soonPerWhole === 0 ? times : Math.min(times, LARGEST_STEP);
  const cyclesPerWhole = Math.ceil((pace.soonPerWhole + 1) * step);
  return changed(pace, startedAt, Math.min(cyclesPerWhole - 1, MOST_NEXT_48H_PER_WHOLE));
}

/**
 * Changes the pace. Tenants of a client become late together. To avoid simultaneous full reads, each tenant continues from its progress
 * towards the next full read, plus a random step.
 */
function changed({ isPlain, ...before }: Pace, startedAt: Instant, next48hPerWhole: number): Pace {
  const cyclesPerWhole = before.soonPerWhole + 1;
  const position = (before.soonSince + drawOf(startedAt, cyclesPerWhole)) / cyclesPerWhole;
  return {
    isPlain,
    soonPerWhole: next48hPerWhole,
    soonSince: Math.floor(position * (next48hPerWhole + 1)),
    late: 0,
    inTime: 0,
  };
}

/** Returns a number from 0 to below 1, constant for one cycle. A simpler function than a hash would correlate with the cycles. */
function drawOf(startedAt: Instant, cyclesPerWhole: number): number {
  return hash('sha256', `${startedAt} ${cyclesPerWhole}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Returns whether the pace allows a cycle that reads only the next two days. */
export function isNext48hDue({ soonPerWhole, soonSince, isPlain }: Pace): boolean {
  return isPlain && soonSince < soonPerWhole;
}

/**
 * Returns calendars that this cycle may plan with a read of the next two days, if the pace and the targets allow it.
 * @returns null if a full read is required
 */
export async function next48hCalendars(
  tenant: Pick<
    OpenTenant,
    'configVersion' | 'holds' | 'planLifeMs' | 'protection' | 'pullEveryMs' | 'reminders' | 'targetStore'
  >,
  targets: readonly OpenTarget[],
  { startedAt, last }: { startedAt: Instant; last: RunReport | undefined },
): Promise<readonly OpenTarget[] | null> {
  if (!isNext48hDue(paceOf(last, startedAt, tenant.pullEveryMs))) return null;
  // A decision about a hold requires a full read.
  if ((await tenant.holds.list()).some(({ state }) => state !== 'rejected')) return null;
  const summaries = await tenant.targetStore.summarize(targets.map(({ id }) => id));
  const now = { number: await tenant.configVersion.join(), wentBackAt: await tenant.protection.wentBackAt() };
  // Pending changes are written while the last full plan is recent enough. A full plan must come well before its expiry.
  const oldAt = startedAt - tenant.planLifeMs / 2;
  if ([...summaries.values()].some((summary) => needsWhole(summary, now, oldAt))) return null;
  const adopted = targets.filter(({ id, crm }) => crm === null && summaries.get(id)?.record.adoptedAt != null);
  return adopted.length === 0 && tenant.reminders === null ? null : adopted;
}

/**
 * Returns whether a target requires a full plan: none exists under the current configuration with complete links, or a repetition is due. A
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

/** Options of loading a cycle over the next two days. */
export interface Next48hOptions extends Omit<Loading, 'clinicReading'> {
  /** Calendars for a plan over two days. */
  openTargets: readonly OpenTarget[];
  /** Scopes for users other than targets. */
  extraScopes: readonly ReadingScope[];
  last: RunReport | undefined;
}

/**
 * Loads the plan input for the next two days: new or changed appointments. Such a plan removes nothing and judges nothing. Other cases
 * require a full read: an unproven removal, a record that differs from its link's time, a suspicion.
 * @param targets all active targets, because they determine the catalogue parts to read
 * @returns null if a full read is required
 */
export async function loadNext48h(
  tenant: Opener & Stores & ClinicReader & Pick<OpenTenant, 'tombstones'>,
  targets: readonly OpenTarget[],
  { lease, progress, openTargets, extraScopes, last }: Next48hOptions,
  signal: AbortSignal,
): Promise<Loaded | null> {
  const wanted = { extraScopes, ...(last && { last }), reach: 'near', streams: NO_STREAMS } as const;
  const clinicReading = await readClinic(tenant, targets, wanted, signal);
  if (clinicReading.snapshot.completeness === 'partial') return null;
  progress(message('step.next-days'));
  const byAgenda = indexByAgenda(clinicReading.snapshot.records);
  const loadContext = await lookAround(tenant, openTargets, { clinicReading, byAgenda, gaps: new Map() });
  const { opened, skippedTargets } = await openAll(tenant, openTargets, { loadContext, lease }, signal);
  if (opened.some(({ target, state }) => missingFrom(clinicReading, target, state, new Set()).length > 0)) return null;
  if ((await tenant.protection.uncertainty({ lookOnly: lease === null })) !== null) return null;
  const confirmations: Confirmations = {
    appointments: nothingMissing(),
    patients: nothingMissing(),
    invoices: nothingMissing(),
  };
  const isForgotten = await tenant.tombstones.load();
  const shown = { clinicReading, byAgenda, confirmations, isForgotten, isUncertain: false };
  return {
    input: await inputOf(tenant, opened, shown),
    loadContext,
    resting: new Map(),
    skippedTargets,
    uncertainty: null,
  };
}

/**
 * Returns whether a plan over two days is acceptable. Removals, and targets with more changed than confirmed records, require a full read.
 * Data of another tenant has unknown ids, or known ids with other contents, and would confirm almost no record.
 */
export function canStand(plan: TargetPlan): boolean {
  const { passed, refused, unchanged } = plan;
  const isWrittenOnly = refused.length === 0 && passed.every(({ wanted }) => wanted.want === 'present');
  return isDecided(plan) && isWrittenOnly && passed.length <= unchanged;
}
