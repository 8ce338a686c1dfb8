import type { DeletionClass, PlannedChange } from '../model/plan.ts';

/** Deletions of one class are held when they are more than the share and more than the count, in a rolling hour. */
export interface DeletionLimit {
  /** Share of the target's links, 0 to 1. */
  share: number;
  count: number;
}

/** What the guard weighs. */
export interface GuardInput {
  changes: readonly PlannedChange[];
  /** Links that the target has now. */
  linkCount: number;
  /** Deletions carried out in the last hour without a person's approval. */
  recentDeletions: Readonly<Record<DeletionClass, number>>;
  limits: Readonly<Record<DeletionClass, DeletionLimit>>;
  /** Records whose deletion a person approved, and those whose deletion a person rejected. */
  approved: ReadonlySet<string>;
  /** Records in a hold that nobody has decided: only a person releases them. */
  waiting: ReadonlySet<string>;
  rejected: ReadonlySet<string>;
}

/** What may go on and what must wait. Creates and updates are never held. */
export interface GuardVerdict {
  passed: PlannedChange[];
  held: Readonly<Record<DeletionClass, PlannedChange[]>>;
  /** Deletions that a person rejected: the objects stay. */
  refused: PlannedChange[];
}

/** Explicit cancellations are one class, everything else that removes is the other, but for what a person had forgotten. */
export function deletionClass(change: PlannedChange): DeletionClass | null {
  if (change.wanted.want === 'present' || change.reason === 'forgotten') return null;
  return change.reason === 'cancelled' ? 'cancelled' : 'vanished';
}

/**
 * Holds deletions above the limits. Share and count must both be exceeded, by what the hour has seen plus what is planned;
 * then all undecided deletions of that class wait, since part of a wrong plan is as wrong.
 */
export function guard(input: GuardInput): GuardVerdict {
  const held: Record<DeletionClass, PlannedChange[]> = { cancelled: [], vanished: [] };
  const verdict = { passed: [] as PlannedChange[], held, refused: [] as PlannedChange[] };
  const undecided: Record<DeletionClass, PlannedChange[]> = { cancelled: [], vanished: [] };
  for (const change of input.changes) {
    const kind = deletionClass(change);
    if (kind === null || input.approved.has(change.recordId)) verdict.passed.push(change);
    else if (input.rejected.has(change.recordId)) verdict.refused.push(change);
    else if (input.waiting.has(change.recordId)) held[kind].push(change);
    else undecided[kind].push(change);
  }
  for (const kind of ['cancelled', 'vanished'] as const) {
    const tooMany = exceeds(undecided[kind].length, held[kind].length, kind, input);
    (tooMany ? held[kind] : verdict.passed).push(...undecided[kind]);
  }
  return verdict;
}

function exceeds(planned: number, waiting: number, kind: DeletionClass, input: GuardInput): boolean {
  if (planned === 0) return false;
  const executed = input.recentDeletions[kind];
  const limit = input.limits[kind];
  const base = input.linkCount + executed;
  const all = planned + waiting + executed;
  return all > limit.count && all > base * limit.share;
}
