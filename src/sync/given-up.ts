import type { PendingChange } from '../model/plan.ts';
import { DAY_MS, hasPassed, type Instant, type TimeWindow } from '../model/time.ts';

/** What was decided longer ago, and of which a plan knows nothing, is not written any more. */
const DOUBTFUL_AFTER_MS = DAY_MS;

/** What a plan knows of the records that changes wait for. */
export interface Knowledge {
  window: TimeWindow;
  now: Instant;
  /** Whether this cycle learned where a record stands. */
  speaksOf(recordId: string): boolean;
  /** Whether a complete list should have shown it and did not, nor did reading it alone. */
  isMissing(recordId: string): boolean;
}

/**
 * Changes that wait and of whose records this plan knows nothing: they are not sent any more when they left the window or were decided
 * long ago. Nothing is lost by it: a record that is seen again is compared with what the target has, and planned again.
 */
export function findAbandoned(
  pending: Iterable<PendingChange>,
  { window, now, speaksOf, isMissing }: Knowledge,
): string[] {
  const isDoubtful = (waiting: PendingChange) => {
    const isOld = waiting.enqueuedAt <= now - DOUBTFUL_AFTER_MS;
    if (hasPassed(waiting, window)) return isOld || waiting.parked;
    // Removals were proved when they were decided; what may have been written already must be brought to its end.
    return waiting.want === 'present' && !waiting.sent && (isOld || isMissing(waiting.recordId));
  };
  return [...pending]
    .filter((waiting) => !speaksOf(waiting.recordId) && isDoubtful(waiting))
    .map(({ recordId }) => recordId);
}
