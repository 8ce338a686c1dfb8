import { isWorthPacking, PackedList } from '../model/packed.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { PlannedChange } from '../model/plan.ts';

/** Changes as a plan holds them: those of a cycle that plans many are packed, since all plans are there before the first is carried out. */
export type Changes = readonly PlannedChange[] | PackedChanges;

/** Changes, packed. Their reasons are counted as they come. */
export class PackedChanges extends PackedList<PlannedChange> {
  readonly reasons: Record<string, number> = {};

  override push(change: PlannedChange): void {
    this.reasons[change.reason] = (this.reasons[change.reason] ?? 0) + 1;
    super.push(change);
  }
}

/** How many changes there are of each reason. */
export function reasonsOf(changes: Changes): Record<string, number> {
  if (changes instanceof PackedChanges) return { ...changes.reasons };
  const reasons: Record<string, number> = {};
  for (const { reason } of changes) reasons[reason] = (reasons[reason] ?? 0) + 1;
  return reasons;
}

/** @param sum of all changes that the cycle plans so far, these among them */
export function* packedBeyond(changes: Changes, sum: number): Pieces<Changes> {
  if (changes instanceof PackedChanges || !isWorthPacking(changes.length, sum)) return changes;
  const list = new PackedChanges();
  yield* eachInPieces(changes, (change) => list.push(change));
  return list;
}
