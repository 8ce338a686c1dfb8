import type { Link } from '../core/model/operations.ts';
import type { Hold, PlannedChange } from '../core/model/plan.ts';
import type { PushedState } from './diff.ts';
import { type DeletionLimit, exceeds, isHalf } from './guard.ts';
import { type StoredWithheld, withheldIn } from './policy.ts';
import type { TargetRules } from './target.ts';

/** Kind of the holds that keep back restorations. */
const KIND = 'manual-changes' satisfies Hold['kind'];

/** Input for weighing the objects that a plan would create again. */
export interface RestorationInput {
  changes: readonly PlannedChange[];
  state: PushedState;
  /** Objects restored in the last hour without an approval. */
  restoredBefore: number;
  /** Limit of the guard for records that vanish. */
  limit: DeletionLimit;
  /** Holds of the target. */
  holds: readonly Hold[];
}

/** Permitted and withheld restorations. */
export interface WeighedRestorations {
  /** All changes except the withheld ones, in their order. */
  permitted: PlannedChange[];
  held: PlannedChange[];
  /** Restorations that an operator rejected. */
  refused: PlannedChange[];
  /** Records in `permitted` that are restored without an approval. */
  restoring: ReadonlySet<string>;
}

/**
 * Holds restorations above the limit. Many objects that are gone at once are a decision of a user or a fault of the target, so the daemon
 * never creates them again automatically. Changed records count too, because a changed setting changes all contents at once.
 */
export function weighRestorations(input: RestorationInput): WeighedRestorations {
  const { changes, state, limit, holds } = input;
  const restorations = changes.filter((change) => isRestoration(change, state));
  if (restorations.length === 0) return { permitted: [...changes], held: [], refused: [], restoring: new Set() };
  const approved = recordsIn(
    holds,
    ({ kind, state }) => state === 'approved' && (kind === KIND || kind === 'replaced'),
  );
  const rejected = rejectedIn(holds);
  const waiting = recordsIn(holds, ({ kind, state }) => state === 'open' && kind === KIND);
  const open = restorations.filter(({ recordId }) => !approved.has(recordId) && !rejected.has(recordId));
  const isTooMuch = exceedsLimit(open.length + input.restoredBefore, state.links.size, limit);
  const heldIds = new Set(open.map(({ recordId }) => recordId).filter((id) => isTooMuch || waiting.has(id)));
  const refusedIds = new Set(
    restorations.map(({ recordId }) => recordId).filter((id) => rejected.has(id) && !approved.has(id)),
  );
  const only = (ids: ReadonlySet<string>) =>
    restorations
      .filter(({ recordId }) => ids.has(recordId))
      .map((change): PlannedChange => ({ ...change, reason: 'removed-by-hand' }));
  return {
    permitted: changes.filter(({ recordId }) => !heldIds.has(recordId) && !refusedIds.has(recordId)),
    held: only(heldIds),
    refused: only(refusedIds),
    restoring: new Set(open.map(({ recordId }) => recordId).filter((id) => !heldIds.has(id))),
  };
}

/**
 * Returns the drift of a target without removed objects that an operator decided not to restore, and without objects that only its policy
 * keeps.
 */
export function unacceptedDrift(
  drifted: readonly Link[],
  holds: readonly Hold[],
  target: { id: string; configuration: Pick<TargetRules, 'policy'> },
  record: StoredWithheld,
): Link[] {
  const rejected = rejectedIn(holds.filter((hold) => hold.target === target.id));
  const notRemoved = new Set(withheldIn(target, record).notRemoved);
  return drifted.filter(
    ({ recordId, drift }) => !notRemoved.has(recordId) && (drift !== 'removed' || !rejected.has(recordId)),
  );
}

function rejectedIn(holds: readonly Hold[]): Set<string> {
  return recordsIn(holds, ({ kind, state }) => kind === KIND && state === 'rejected');
}

/** A pending write was decided earlier. */
function isRestoration({ recordId, wanted }: PlannedChange, { links, pending }: PushedState): boolean {
  return wanted.want === 'present' && links.get(recordId)?.drift === 'removed' && !pending.has(recordId);
}

function exceedsLimit(count: number, links: number, limit: DeletionLimit): boolean {
  return exceeds(count, links, limit) || isHalf(count, links, limit);
}

function recordsIn(holds: readonly Hold[], isMeant: (hold: Hold) => boolean): Set<string> {
  return new Set(holds.filter(isMeant).flatMap(({ recordIds }) => recordIds));
}
