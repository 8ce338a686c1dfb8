import type { Instant } from '../model/time.ts';
import type { RunReport } from '../state/runs.ts';
import type { TargetSummary } from '../state/targets.ts';
import { type Confirmations, nothingMissing } from '../sync/absence.ts';
import { indexByAgenda } from '../sync/agenda-index.ts';
import { missingFrom } from '../sync/followed.ts';
import { isDecided, type TargetPlan } from '../sync/target-plan.ts';
import { type ClinicReader, readClinic } from './clinic-reading.ts';
import type { ReadingScope } from './cycle-follower.ts';
import { inputOf, type Loaded, type Loading, lookAround, openAll, type Stores } from './load.ts';
import type { Opener } from './open-states.ts';
import { isNext48hDue, paceOf } from './pace.ts';
import { NO_STREAMS } from './streams.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/**
 * Calendars that the cycle that begins now may plan by the next two days alone, as the pace and the targets let it.
 * @returns null when all must be read
 */
export async function next48hCalendars(
  tenant: Pick<
    OpenTenant,
    'generation' | 'holds' | 'planLifeMs' | 'protection' | 'pullEveryMs' | 'reminders' | 'targetStore'
  >,
  targets: readonly OpenTarget[],
  { startedAt, last }: { startedAt: Instant; last: RunReport | undefined },
): Promise<readonly OpenTarget[] | null> {
  if (!isNext48hDue(paceOf(last, startedAt, tenant.pullEveryMs))) return null;
  // A person's word on what was held is carried out by a reading of all.
  if ((await tenant.holds.list()).some(({ state }) => state !== 'rejected')) return null;
  const summaries = await tenant.targetStore.summarize(targets.map(({ id }) => id));
  const now = { number: await tenant.generation.join(), wentBackAt: await tenant.protection.wentBackAt() };
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
  known: readonly OpenTarget[];
  /** What is read for others than targets. */
  besides: readonly ReadingScope[];
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
  { lease, progress, known, besides, last }: Next48hOptions,
  signal: AbortSignal,
): Promise<Loaded | null> {
  const wanted = { besides, ...(last && { last }), reach: 'near', streams: NO_STREAMS } as const;
  const clinicReading = await readClinic(tenant, targets, wanted, signal);
  if (clinicReading.snapshot.completeness === 'partial') return null;
  progress('planning the next two days');
  const byAgenda = indexByAgenda(clinicReading.snapshot.records.values());
  const loadContext = await lookAround(tenant, known, { clinicReading, byAgenda, gaps: new Map() });
  const { opened, left } = await openAll(tenant, known, { basis: loadContext, lease }, signal);
  if (opened.some(({ target, state }) => missingFrom(clinicReading, target, state, new Set()).length > 0)) return null;
  if ((await tenant.protection.doubt({ lookOnly: lease === null })) !== null) return null;
  const confirmations: Confirmations = {
    appointments: nothingMissing(),
    patients: nothingMissing(),
    invoices: nothingMissing(),
  };
  const isForgotten = await tenant.tombstones.load();
  const shown = { clinicReading, byAgenda, confirmations, isForgotten, isDoubted: false };
  return { input: await inputOf(tenant, opened, shown), basis: loadContext, resting: new Map(), left, doubt: null };
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
