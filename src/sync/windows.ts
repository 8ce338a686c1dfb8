import type { StreamName } from '../model/streams.ts';
import { DAY_MS, HOUR_MS, type Instant, type TimeWindow } from '../model/time.ts';

/** How far a reading of the appointments reaches: over all that the targets show, or over the next two days of it. */
export type Reach = 'whole' | 'near';

/** What says how far a target reaches. */
export interface Windowed {
  stream: StreamName;
  configuration: { window: { pastDays: number; futureDays: number } };
}

/** Today, however late it is, and the next two days. */
const NEAR = { backMs: 12 * HOUR_MS, aheadMs: 48 * HOUR_MS };

/** What has no time of its own lies in it: all of it that a date can tell. */
const ALWAYS: TimeWindow = { fromAt: 0, toAt: 8.64e15 };

/** A target's window at a time: whole days before and after; for patients, all of it. */
export function windowOf(target: Windowed, now: Instant): TimeWindow {
  if (target.stream === 'patients') return ALWAYS;
  const { pastDays, futureDays } = target.configuration.window;
  return { fromAt: now - pastDays * DAY_MS, toAt: now + futureDays * DAY_MS };
}

/** The next two days as they are read alone; in one list call wherever one may be of four days. */
export function nearWindow(now: Instant): TimeWindow {
  return { fromAt: now - NEAR.backMs, toAt: now + NEAR.aheadMs };
}

/** The part of a target's window that a reading speaks of; empty where it does not reach. */
export function windowRead(target: Windowed, { reach, startedAt }: { reach: Reach; startedAt: Instant }): TimeWindow {
  const window = windowOf(target, startedAt);
  return reach === 'whole' ? window : commonWindow(window, nearWindow(startedAt));
}

/** What two windows have in common; empty where that is nothing. */
export function commonWindow(one: TimeWindow, other: TimeWindow): TimeWindow {
  return { fromAt: Math.max(one.fromAt, other.fromAt), toAt: Math.min(one.toAt, other.toAt) };
}
