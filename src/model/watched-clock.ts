import { type Clock, type Instant, SECOND_MS } from './time.ts';

/**
 * How much time, in milliseconds, passed between two moments by the wall clock, of whatever process; the later one of this process.
 * Negative where only a clock that ran ahead can have told the earlier one.
 */
export type ElapsedBetween = (fromAt: Instant, toAt: Instant) => number;

/** A wall clock beside one that does not jump with it. */
export interface WatchedClock {
  clock: Clock;
  elapsedBetween: ElapsedBetween;
}

/** How the wall clock stood to the steady one for a while, both ends by the steady one. */
interface Stand {
  offsetMs: number;
  fromAt: Instant;
  /** Moves on with each look; of one that is over: the look that found another. */
  untilAt: Instant;
}

/** Less is no jump: clocks that are kept right step by step, or that were read one after the other. Our choice. */
const JUMP_MS = SECOND_MS / 2;
/** Jumps that are remembered; of what was before them only the wall clock tells. */
const STORED_OFFSETS = 32;

/**
 * Has everybody who asks for the time look whether the wall clock jumped. What passes while this process runs is told by the steady one: two
 * readings that a jump took apart are as near to each other as they were. Of the time before, only the wall clock tells.
 * @param steady milliseconds since any moment, such as `performance.now`
 */
export function watchClock(wall: Clock, steady: () => number): WatchedClock {
  const offsets: Stand[] = [];
  const look = () => {
    const now = steady();
    const wallNow = wall();
    const last = offsets.at(-1);
    if (last !== undefined) last.untilAt = now;
    if (last === undefined || Math.abs(wallNow - now - last.offsetMs) >= JUMP_MS) {
      offsets.push({ offsetMs: wallNow - now, fromAt: now, untilAt: now });
      if (offsets.length > STORED_OFFSETS) offsets.shift();
    }
    return { now, wallNow };
  };
  const first = look();
  /** The same moment by the steady clock; null when it was not while this process looked, nor before. */
  const steadyAt = (at: Instant): number | null => {
    const may = offsets.flatMap(({ offsetMs, fromAt, untilAt }) => {
      const moment = at - offsetMs;
      return moment > fromAt - JUMP_MS && moment < untilAt + JUMP_MS ? [moment] : [];
    });
    if (may.length > 0) return Math.max(...may);
    const before = at - first.wallNow + first.now;
    return before < first.now ? before : null;
  };
  return {
    clock: () => look().wallNow,
    elapsedBetween(fromAt, toAt) {
      look();
      const [from, to] = [steadyAt(fromAt), steadyAt(toAt)];
      return from === null || to === null ? toAt - fromAt : to - from;
    },
  };
}
