import type { DeletionClass, PlannedChange } from '../core/model/plan.ts';

/** Removals of one class are held if they exceed both the share and the count. */
export interface DeletionLimit {
  /** Share of the target's objects, 0 to 1. */
  share: number;
  count: number;
}

/** Why records left a target: removed for one of three reasons, or released as time passed. `restored`: removed by hand, and created again. */
export type GoneReason = 'cancelled' | 'excluded' | 'vanished' | 'released' | 'restored';
export type GoneCounts = Readonly<Record<GoneReason, number>>;

/** Results of fetching absent records individually. */
export interface AbsenceEvidence {
  /** Two reads found the record gone. Only proven records are removed. */
  isProven(recordId: string): boolean;
  /** The record was not fetched yet. */
  isUnknown(recordId: string): boolean;
  /** Estimated share of unknown records that are gone, from a sample: 0 to 1. */
  goneShare: { atLeast: number; atMost: number };
}

/** Input of the guard. */
export interface GuardInput {
  /** All differences, with every absent record that was not found individually, proven or not. */
  changes: readonly PlannedChange[];
  /** Number of the target's links. */
  linkCount: number;
  /** Records that left the target in the last hour and in the last seven days, without approved removals. */
  gone: { hour: GoneCounts; week: GoneCounts };
  absence: AbsenceEvidence;
  limits: Readonly<Record<DeletionClass, DeletionLimit>>;
  /** Records whose deletion an administrator approved, and those whose deletion an administrator rejected. */
  approved: ReadonlySet<string>;
  /** Records in an undecided hold: only an administrator releases them. */
  waiting: ReadonlySet<string>;
  rejected: ReadonlySet<string>;
}

/** Permitted and withheld changes. The guard never holds creates and updates. */
export interface GuardResult {
  permitted: PlannedChange[];
  held: Readonly<Record<DeletionClass, PlannedChange[]>>;
  /** Rejected deletions: the objects remain. */
  refused: PlannedChange[];
  /** Removals of absent records without enough evidence: the next cycles fetch the records. */
  postponed: PlannedChange[];
  /** So many records are absent that the read is suspect for every target of the stream. */
  distrustsReading: boolean;
}

/** From this number of removals, half of a target is too much, even for a small target. */
const HALF_FROM = 3;
/** A sample with g of n gone may mean three more or three fewer (the rule of three, for zero and for all). */
const SAMPLE_ERROR = 3;

/** Returns the class of a removal: explicit cancellations, or all other removals. Erasures that an operator requested have no class. */
export function deletionClass(change: PlannedChange): DeletionClass | null {
  if (change.wanted.want === 'present' || change.reason === 'forgotten') return null;
  return change.reason === 'cancelled' ? 'cancelled' : 'vanished';
}

/**
 * Estimates the share of gone records from a sample.
 * @param asked number of records with an answer
 * @param gone number of those that are gone
 */
export function goneShareOf(asked: number, gone: number): AbsenceEvidence['goneShare'] {
  if (asked === 0) return { atLeast: 0, atMost: 1 };
  return {
    atLeast: Math.max(0, gone - SAMPLE_ERROR) / asked,
    atMost: Math.min(asked, gone + SAMPLE_ERROR) / asked,
  };
}

/**
 * Holds removals above the limits. A hold covers all undecided removals of the class, because part of a wrong plan is wrong too. All absent
 * records are weighed together before the first removal, fetched or not.
 */
export function guard(input: GuardInput): GuardResult {
  const held: Record<DeletionClass, PlannedChange[]> = { cancelled: [], vanished: [] };
  const result = {
    permitted: [] as PlannedChange[],
    held,
    refused: [] as PlannedChange[],
    postponed: [] as PlannedChange[],
  };
  const undecided: Record<DeletionClass, PlannedChange[]> = { cancelled: [], vanished: [] };
  for (const change of input.changes) {
    const kind = deletionClass(change);
    if (kind === null) result.permitted.push(change);
    else if (input.approved.has(change.recordId))
      (mayGo(change, input) ? result.permitted : result.postponed).push(change);
    else if (input.rejected.has(change.recordId)) result.refused.push(change);
    else if (input.waiting.has(change.recordId)) held[kind].push(change);
    else undecided[kind].push(change);
  }
  const isCancelledTooMuch = exceedsCancelled(undecided.cancelled.length + held.cancelled.length, input);
  const { atLeast, atMost } = input.absence.goneShare;
  const vanished = [...undecided.vanished, ...held.vanished];
  const isTooMuch = exceedsVanished(vanished, atLeast, input);
  const isUnclear = exceedsVanished(vanished, atMost, input);
  (isCancelledTooMuch ? held.cancelled : result.permitted).push(...undecided.cancelled);
  for (const change of undecided.vanished) {
    if (isTooMuch) held.vanished.push(change);
    else if (!isAbsence(change) || (mayGo(change, input) && !isUnclear)) result.permitted.push(change);
    else result.postponed.push(change);
  }
  return { ...result, distrustsReading: isTooMuch && vanished.some(isAbsence) };
}

/**
 * Withholds removals of a plan because another target found the read suspect: every undecided removal without the source's confirmation.
 */
export function holdAll<Plan extends Pick<GuardResult, 'permitted' | 'postponed'> & { held: GuardResult['held'] }>(
  plan: Plan,
  approved: ReadonlySet<string>,
): Plan {
  const isSuspect = (change: PlannedChange) => deletionClass(change) === 'vanished' && !approved.has(change.recordId);
  const suspects = [...plan.permitted, ...plan.postponed].filter(isSuspect);
  return {
    ...plan,
    permitted: plan.permitted.filter((change) => !isSuspect(change)),
    postponed: plan.postponed.filter((change) => !isSuspect(change)),
    held: { ...plan.held, vanished: [...plan.held.vanished, ...suspects] },
  };
}

function isAbsence({ reason }: PlannedChange): boolean {
  return reason === 'vanished';
}

function mayGo(change: PlannedChange, { absence }: GuardInput): boolean {
  return !isAbsence(change) || absence.isProven(change.recordId);
}

function exceedsCancelled(removals: number, { gone, linkCount, limits }: GuardInput): boolean {
  const spent = gone.hour.cancelled;
  return exceeds(removals + spent, linkCount + spent, limits.cancelled);
}

/**
 * Two checks: the last hour against the target's current objects, and seven days against all objects of that period. Explicit removals are
 * weighed only in the first check, since a rule that excludes records day by day is normal. Absent records are weighed in both
 * checks.
 */
function exceedsVanished(removals: readonly PlannedChange[], goneShare: number, input: GuardInput): boolean {
  const { gone, linkCount, limits, absence } = input;
  const absences = removals.filter(isAbsence);
  const unknown = absences.filter(({ recordId }) => absence.isUnknown(recordId)).length;
  const absent = absences.length - unknown + Math.ceil(unknown * goneShare);
  const stated = removals.length - absences.length;
  const atOnce = { absent: absent + gone.hour.vanished, held: linkCount + gone.hour.vanished + gone.hour.excluded };
  const overDays = { absent: absent + gone.week.vanished, held: linkCount + sumOf(gone.week) };
  return (
    exceeds(atOnce.absent + stated + gone.hour.excluded, atOnce.held, limits.vanished) ||
    isHalf(atOnce.absent, atOnce.held, limits.vanished) ||
    exceeds(overDays.absent, overDays.held, limits.vanished) ||
    isHalf(overDays.absent, overDays.held, limits.vanished)
  );
}

/** Returns whether a number exceeds the limit's share and its count. */
export function exceeds(removals: number, held: number, { share, count }: DeletionLimit): boolean {
  return removals > count && removals > held * share;
}

/** Small targets never exceed a count, so half of a target is a limit too. A configured share of half or more disables the rule. */
export function isHalf(removals: number, held: number, { share }: DeletionLimit): boolean {
  return share < 0.5 && removals >= HALF_FROM && removals * 2 >= held;
}

function sumOf({ cancelled, excluded, vanished, released }: GoneCounts): number {
  return cancelled + excluded + vanished + released;
}
