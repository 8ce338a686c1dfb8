import { type Clock, type Instant, SECOND_MS } from './time.ts';

/**
 * How long ago something was, in milliseconds; never more than passed while this process ran. Negative where only a clock that ran ahead can
 * have said so. @param at by the wall clock, of any process
 */
export type ElapsedSince = (at: Instant) => number;

/** A wall clock beside one that does not jump with it. */
export interface WatchedClock {
  clock: Clock;
  elapsedSince: ElapsedSince;
}

/** How the wall clock stood to the steady one for a while, both ends by the steady one. */
interface Stand {
  offsetMs: number;
  fromAt: Instant;
  /** Moves on with each look; of one that is over: the look that found another. */
  untilAt: Instant;
}

/** Less is no jump: clocks that are kept right step by step, or that were read one after the other. Our choice. */
const JUMP_MS = SECOND_MS;
/** Jumps that are remembered; of what was before them only the wall clock tells. */
const KEPT_STANDS = 32;

/**
 * Has everybody who asks for the time look whether the wall clock jumped. What has passed since this process began is told by the steady one:
 * two readings that a jump took apart are as near to each other as they were. Of the time before, only the wall clock tells.
 * @param steady milliseconds since any moment, such as `performance.now`
 */
export function watchClock(wall: Clock, steady: () => number): WatchedClock {
  const stands: Stand[] = [];
  const look = () => {
    const now = steady();
    const wallNow = wall();
    const last = stands.at(-1);
    if (last !== undefined) last.untilAt = now;
    if (last === undefined || Math.abs(wallNow - now - last.offsetMs) >= JUMP_MS) {
      stands.push({ offsetMs: wallNow - now, fromAt: now, untilAt: now });
      if (stands.length > KEPT_STANDS) stands.shift();
    }
    return { now, wallNow };
  };
  look();
  return {
    clock: () => look().wallNow,
    elapsedSince(at) {
      const { now, wallNow } = look();
      const passed = stands
        .map(({ offsetMs, fromAt, untilAt }) => ({ steadyAt: at - offsetMs, fromAt, untilAt }))
        .filter(({ steadyAt, fromAt, untilAt }) => steadyAt > fromAt - JUMP_MS && steadyAt < untilAt + JUMP_MS)
        .map(({ steadyAt }) => now - steadyAt);
      return passed.length > 0 ? Math.min(...passed) : wallNow - at;
    },
  };
}
