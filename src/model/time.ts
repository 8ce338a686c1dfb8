/** One second in milliseconds. */
export const SECOND_MS = 1_000;
/** One minute in milliseconds. */
export const MINUTE_MS = 60 * SECOND_MS;
/** One hour in milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS;
/** One day of 24 hours in milliseconds. */
export const DAY_MS = 24 * HOUR_MS;

/** A point in time: epoch milliseconds. Fields that hold one end in `At`. */
export type Instant = number;

/** Tells the time; passed in wherever time matters, so that tests choose it. */
export type Clock = () => Instant;

/** A half-open span of time: `fromAt` belongs to it, `toAt` does not. */
export interface TimeWindow {
  fromAt: Instant;
  toAt: Instant;
}
