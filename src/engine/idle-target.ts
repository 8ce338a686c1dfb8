import { type Instant, overlaps, type TimeSpan, type TimeWindow } from '../core/model/time.ts';
import type { PushedState } from './diff.ts';

/** Input of a plan without changes. */
export interface PlannedFor {
  /** Times of the records that the target may show, by record. */
  own: ReadonlyMap<string, TimeSpan>;
  state: PushedState;
  window: TimeWindow;
  now: Instant;
}

/**
 * Returns until when a target needs no plan if records, links and rules remain equal. The window moves with time.
 * @returns null if other input matters: a change is pending, a link has no record in the input, or an object has manual edits
 */
export function idleUntil({ own, state, window, now }: PlannedFor): Instant | null {
  if (state.pending.size > 0) return null;
  const pastMs = now - window.fromAt;
  const futureMs = window.toAt - now;
  let untilAt = Number.POSITIVE_INFINITY;
  const consider = ({ startAt, endAt }: TimeSpan) => {
    // Instants at which the results of `overlaps` and `hasPassed` change.
    for (const edgeAt of [startAt - futureMs, Math.max(endAt, startAt + 1) + pastMs]) {
      if (edgeAt >= now && edgeAt < untilAt) untilAt = edgeAt;
    }
  };
  for (const link of state.links.values()) {
    if (link.drift !== null || !own.has(link.recordId) || !overlaps(link, window)) return null;
    consider(link);
  }
  for (const time of own.values()) consider(time);
  return untilAt;
}
