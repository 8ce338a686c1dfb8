import type { Appointment } from '../model/records.ts';
import { type Instant, overlaps, type TimeSpan, type TimeWindow } from '../model/time.ts';
import type { PushedState } from './diff.ts';

/** A target for which a plan had nothing to do: by the same it has nothing to do again, until time alone changes that. */
export interface IdleTarget {
  /** Names all that the plan went by, but for the time. */
  by: string;
  fromAt: Instant;
  /** From then on a record or a link may have come into the window, or left it. */
  untilAt: Instant;
  /** Links, and records that are as they should be. */
  links: number;
  unchanged: number;
  /** Records that the rules leave out, by the rule's code, those of other agendas not counted. */
  omitted: Readonly<Record<string, number>>;
}

/** What a plan that had nothing to do went by. */
export interface PlannedFor {
  /** The appointments of the target's agendas. */
  own: ReadonlyMap<string, Appointment>;
  state: PushedState;
  window: TimeWindow;
  now: Instant;
}

/**
 * Until when a calendar has nothing to do as long as its appointments, links and rules are the same. It moves with its window.
 * @returns null when other things decide than these: something waits, a link is of a record that is not among them, or a person touched one
 */
export function idleUntil({ own, state, window, now }: PlannedFor): Instant | null {
  if (state.pending.size > 0) return null;
  const pastMs = now - window.fromAt;
  const futureMs = window.toAt - now;
  let untilAt = Number.POSITIVE_INFINITY;
  const consider = ({ startAt, endAt }: TimeSpan) => {
    // The moments at which `overlaps` and `hasLeft` come to answer otherwise.
    for (const edgeAt of [startAt - futureMs, Math.max(endAt, startAt + 1) + pastMs]) {
      if (edgeAt >= now && edgeAt < untilAt) untilAt = edgeAt;
    }
  };
  for (const link of state.links.values()) {
    if (link.drift !== null || !own.has(link.recordId) || !overlaps(link, window)) return null;
    consider(link);
  }
  for (const { time } of own.values()) consider(time);
  return untilAt;
}
