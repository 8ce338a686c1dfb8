import type { DeletionClass, PlannedChange } from '../model/plan.ts';

/** Removals of one class are held when they are more than the share and more than the count. */
export interface DeletionLimit {
  /** Share of what the target holds, 0 to 1. */
  share: number;
  count: number;
}

/** How records left a target: removed for one of three reasons, or released by the passing of time. */
export type GoneReason = 'cancelled' | 'excluded' | 'vanished' | 'released';
/** How many did. */
export type GoneCounts = Readonly<Record<GoneReason, number>>;

/** What became of the absent records of a reading when they were asked for alone. */
export interface AbsenceEvidence {
  /** Gone twice, by two readings: only such a record is ever removed. */
  isProven(recordId: string): boolean;
  /** Nobody could ask for it yet. */
  isUnknown(recordId: string): boolean;
  /** Which share of those is gone, as far as a sample of them tells: 0 to 1. */
  goneShare: { atLeast: number; atMost: number };
}

/** What the guard weighs. */
export interface GuardInput {
  /** All that differs; of absent records everything that was not found alone, proven or not. */
  changes: readonly PlannedChange[];
  /** Links that the target has now. */
  linkCount: number;
  /** What left the target in the last hour and in the last seven days; of removals those that nobody approved. */
  gone: { hour: GoneCounts; week: GoneCounts };
  absence: AbsenceEvidence;
  limits: Readonly<Record<DeletionClass, DeletionLimit>>;
  /** Records whose deletion a person approved, and those whose deletion a person rejected. */
  approved: ReadonlySet<string>;
  /** Records in a hold that nobody has decided: only a person releases them. */
  waiting: ReadonlySet<string>;
  rejected: ReadonlySet<string>;
}

/** What may go on and what must wait. Creates and updates are never held here. */
export interface GuardResult {
  passed: PlannedChange[];
  held: Readonly<Record<DeletionClass, PlannedChange[]>>;
  /** Deletions that a person rejected: the objects stay. */
  refused: PlannedChange[];
  /** Removals of absent records of which too little is known yet: the next cycles ask. */
  postponed: PlannedChange[];
  /** So much is absent that the reading itself is in doubt, for every target that follows it. */
  distrustsReading: boolean;
}

/** From so many on, half of a target is too much, however small it is. */
const HALF_FROM = 3;
/** A sample that shows g of n gone may stand for three more or three fewer (the rule of three, for none and for all). */
const SAMPLE_ERROR = 3;

/** Explicit cancellations are one class, everything else that removes is the other, but for what a person had forgotten. */
export function deletionClass(change: PlannedChange): DeletionClass | null {
  if (change.wanted.want === 'present' || change.reason === 'forgotten') return null;
  return change.reason === 'cancelled' ? 'cancelled' : 'vanished';
}

/** What a sample of records tells of the others. @param asked how many answered @param gone how many of those are gone */
export function goneShareOf(asked: number, gone: number): AbsenceEvidence['goneShare'] {
  if (asked === 0) return { atLeast: 0, atMost: 1 };
  return {
    atLeast: Math.max(0, gone - SAMPLE_ERROR) / asked,
    atMost: Math.min(asked, gone + SAMPLE_ERROR) / asked,
  };
}

/**
 * Holds removals above the limits: then all undecided ones of that class wait, since part of a wrong plan is as wrong. Absent records
 * are weighed all together, before the first of them is removed, whether they were asked for or not.
 */
export function guard(input: GuardInput): GuardResult {
  const held: Record<DeletionClass, PlannedChange[]> = { cancelled: [], vanished: [] };
  const result = {
    passed: [] as PlannedChange[],
    held,
    refused: [] as PlannedChange[],
    postponed: [] as PlannedChange[],
  };
  const undecided: Record<DeletionClass, PlannedChange[]> = { cancelled: [], vanished: [] };
  for (const change of input.changes) {
    const kind = deletionClass(change);
    if (kind === null) result.passed.push(change);
    else if (input.approved.has(change.recordId))
      (mayGo(change, input) ? result.passed : result.postponed).push(change);
    else if (input.rejected.has(change.recordId)) result.refused.push(change);
    else if (input.waiting.has(change.recordId)) held[kind].push(change);
    else undecided[kind].push(change);
  }
  const isCancelledTooMuch = exceedsCancelled(undecided.cancelled.length + held.cancelled.length, input);
  const { atLeast, atMost } = input.absence.goneShare;
  const vanished = [...undecided.vanished, ...held.vanished];
  const isTooMuch = exceedsVanished(vanished, atLeast, input);
  const isUnclear = exceedsVanished(vanished, atMost, input);
  (isCancelledTooMuch ? held.cancelled : result.passed).push(...undecided.cancelled);
  for (const change of undecided.vanished) {
    if (isTooMuch) held.vanished.push(change);
    else if (!isAbsence(change) || (mayGo(change, input) && !isUnclear)) result.passed.push(change);
    else result.postponed.push(change);
  }
  return { ...result, distrustsReading: isTooMuch && vanished.some(isAbsence) };
}

/** What another target's doubt of the reading keeps back of a plan: every undecided removal that it does not carry the clinic's word for. */
export function holdAll<Plan extends Pick<GuardResult, 'passed' | 'postponed'> & { held: GuardResult['held'] }>(
  plan: Plan,
  approved: ReadonlySet<string>,
): Plan {
  const isSuspect = (change: PlannedChange) => deletionClass(change) === 'vanished' && !approved.has(change.recordId);
  const suspects = [...plan.passed, ...plan.postponed].filter(isSuspect);
  return {
    ...plan,
    passed: plan.passed.filter((change) => !isSuspect(change)),
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
 * Two looks: at once (with the last hour, at what the target holds) and over seven days (at all that it held in them). What the clinic
 * says weighs in the first only, since a status or an agenda that takes records out day by day is a normal week; what it is
 * silent about weighs in both.
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

/** Whether something is more than its limit: by the share and by the count. */
export function exceeds(removals: number, held: number, { share, count }: DeletionLimit): boolean {
  return removals > count && removals > held * share;
}

/** Small targets stay below every count. Who allows half of a target or more by its share has said otherwise. */
function isHalf(removals: number, held: number, { share }: DeletionLimit): boolean {
  return share < 0.5 && removals >= HALF_FROM && removals * 2 >= held;
}

function sumOf({ cancelled, excluded, vanished, released }: GoneCounts): number {
  return cancelled + excluded + vanished + released;
}
