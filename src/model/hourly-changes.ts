import { HOUR_MS, type Instant } from './time.ts';

/** How many changes there were in each of some hours. */
export interface HourlyChanges {
  /** When the hour of the last count began. */
  lastHourAt: Instant;
  /** Oldest first, at most {@link STORED_HOURS}; hours without any are counted too. */
  counts: readonly number[];
}

/** Hours that are remembered: those of a day. */
export const STORED_HOURS = 24;

/** Before the first change. */
export const NO_CHANGES: HourlyChanges = { lastHourAt: 0, counts: [] };

/** The same with some more. One that comes by a clock that was put back counts in the last hour. */
export function withChanges(before: HourlyChanges, at: Instant, changes: number): HourlyChanges {
  const lastHourAt = Math.max(hourOf(at), before.lastHourAt);
  const counts = countsUntil(before, lastHourAt);
  return { lastHourAt, counts: counts.map((count, index) => (index === counts.length - 1 ? count + changes : count)) };
}

/** The counts of the last day's hours, the hour of this moment last; the same number of them whatever is remembered. */
export function countsUntil({ lastHourAt, counts }: HourlyChanges, at: Instant): number[] {
  const passed = Math.round((hourOf(at) - lastHourAt) / HOUR_MS);
  return Array.from({ length: STORED_HOURS }, (_, index) => counts[counts.length - STORED_HOURS + index + passed] ?? 0);
}

function hourOf(at: Instant): Instant {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}
