import { hash } from 'node:crypto';
import { message } from '../messages/message.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import { FIRST_PACE, type Pace, type RunReport } from '../state/runs.ts';
import type { TargetSummary } from '../state/targets.ts';
import { type Confirmations, nothingMissing } from '../sync/absence.ts';
import { indexByAgenda } from '../sync/agenda-index.ts';
import { missingFrom } from '../sync/mapping-sources.ts';
import { isDecided, type TargetPlan } from '../sync/target-plan.ts';
import { type ClinicReader, readClinic } from './clinic-reading.ts';
import { inputOf, type Loaded, type Loading, lookAround, openAll, type Stores } from './load.ts';
import type { Opener } from './open-states.ts';
import { NO_STREAMS } from './streams.ts';
import type { OpenTarget, OpenTenant, ReadingScope } from './tenant.ts';

/** A cycle is late when it begins so much after its time, as a share of the interval, and by this at least. */
const LATE = { share: 0.1, leastMs: 30 * SECOND_MS };
/** It begins in time when it is no later than by this share. */
const IN_TIME_SHARE = 0.05;
/** One late cycle may come of a machine that stood still. */
const LATE_CYCLES = 2;
/** So many cycles in time, one after the other: there is room for more, and what came late before is forgotten. */
const IN_TIME_IN_TURN = 3;
/** Once some cycles read the next two days alone, at most so many times fewer of them read all with one step: what is left to gain is little. */
const LARGEST_STEP = 1.5;
/** With more of them the next two days would be little fresher, and all else much older. */
const MOST_NEXT_48H_PER_WHOLE = 12;

/**
 * The pace of a cycle that begins now, by when the one before began. Cycles of a client queue for its budget, so where it is short they come
 * late. By as much as they do fewer of them read all; when they come in time again more and more do.
 * @param before the last cycle's report; absent before the first
 * @param everyMs how often cycles should begin
 */
export function paceOf(
  before: Pick<RunReport, 'pace' | 'startedAt'> | undefined,
  startedAt: Instant,
  everyMs: number,
): Pace {
  if (before === undefined) return FIRST_PACE;
  const { pace } = before;
  const intervalMs = startedAt - before.startedAt;
  // Somebody asked for it in between, or the clock was put back.
  if (intervalMs < everyMs / 2) return pace;
  if (intervalMs > everyMs + Math.max(everyMs * LATE.share, LATE.leastMs)) {
    const late = pace.late + 1;
    return late < LATE_CYCLES ? { ...pace, late, inTime: 0 } : slower(pace, startedAt, intervalMs / everyMs);
  }
  const inTime = intervalMs <= everyMs * (1 + IN_TIME_SHARE) ? pace.inTime + 1 : 0;
  if (inTime < IN_TIME_IN_TURN) return { ...pace, inTime };
  return changed(pace, startedAt, Math.max(0, pace.soonPerWhole - 1));
}

/** The interval is what the requests of all cycles take: as many times fewer of them must read all. */
function slower(pace: Pace, startedAt: Instant, times: number): Pace {
  const step = pace.soonPerWhole === 0 ? times : Math.min(times, LARGEST_STEP);
  const cyclesPerWhole = Math.ceil((pace.soonPerWhole + 1) * step);
  return changed(pace, startedAt, Math.min(cyclesPerWhole - 1, MOST_NEXT_48H_PER_WHOLE));
}

/**
 * Tenants of a client come late together. So that they don't all read all together after that, each goes on at another place of its way from
 * one reading of all to the next: as far on it as it was, and by chance a little further.
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

/** A number from 0 to below 1, the same for the same cycle. What is simpler than a hash falls in step with the cycles. */
function drawOf(startedAt: Instant, cyclesPerWhole: number): number {
  return hash('sha256', `${startedAt} ${cyclesPerWhole}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Whether the pace lets this cycle read the next two days alone. */
export function isNext48hDue({ soonPerWhole, soonSince, isPlain }: Pace): boolean {
  return isPlain && soonSince < soonPerWhole;
}

/**
 * Calendars that the cycle that begins now may plan by the next two days alone, as the pace and the targets let it.
 * @returns null when all must be read
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
  // A person's word on what was held is carried out by a reading of all.
  if ((await tenant.holds.list()).some(({ state }) => state !== 'rejected')) return null;
  const summaries = await tenant.targetStore.summarize(targets.map(({ id }) => id));
  const now = { number: await tenant.configVersion.join(), wentBackAt: await tenant.protection.wentBackAt() };
  // What waits is written for as long as a plan of all of it is not too old: that comes well before.
  const oldAt = startedAt - tenant.planLifeMs / 2;
  if ([...summaries.values()].some((summary) => needsWhole(summary, now, oldAt))) return null;
  const adopted = targets.filter(({ id, crm }) => crm === null && summaries.get(id)?.record.adoptedAt != null);
  return adopted.length === 0 && tenant.reminders === null ? null : adopted;
}

/**
 * Whether a target was not planned whole yet, under the configuration of today and by links that are all there, or has to be again. One that
 * is failing before its first plan keeps no other waiting.
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

/** How a cycle over the next two days is loaded. */
export interface Next48hOptions extends Omit<Loading, 'clinicReading'> {
  /** Calendars that may be planned so. */
  openTargets: readonly OpenTarget[];
  /** What is read for others than targets. */
  extraScopes: readonly ReadingScope[];
  last: RunReport | undefined;
}

/**
 * Reads what calendars are planned by for the next two days alone: what is new or other there. Such a plan removes nothing and judges
 * nothing. Whatever asks more than that (an end that is not proved, a record that is not where its link says, a doubt) is left to a
 * reading of all.
 * @param targets all that are not paused: what of the catalogue is read depends on all of them
 * @returns null when all must be read
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
  const byAgenda = indexByAgenda(clinicReading.snapshot.records.values());
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
 * Whether a plan by two days alone can stand: a removal, and a target that is changed in more places than it is confirmed in, are left to a
 * reading of all. Rows of somebody else come under unknown ids, or under known ones with other contents: they would confirm next to nothing.
 */
export function canStand(plan: TargetPlan): boolean {
  const { passed, refused, unchanged } = plan;
  const isWrittenOnly = refused.length === 0 && passed.every(({ wanted }) => wanted.want === 'present');
  return isDecided(plan) && isWrittenOnly && passed.length <= unchanged;
}
