/** One second in milliseconds. */
export const SECOND_MS = 1_000;
/** One minute in milliseconds. */
export const MINUTE_MS = 60 * SECOND_MS;
/** One hour in milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS;
/** One day of 24 hours in milliseconds. */
export const DAY_MS = 24 * HOUR_MS;
/** Clocks of two machines may differ by so much: a time that is no further ahead is not one to come. Our choice. */
export const CLOCK_TOLERANCE_MS = MINUTE_MS;

/** A point in time: epoch milliseconds. Fields that hold one end in `At`. */
export type Instant = number;

/** Tells the time; passed in wherever time matters, so that tests choose it. */
export type Clock = () => Instant;

/** A half-open span of time: `fromAt` belongs to it, `toAt` does not. */
export interface TimeWindow {
  fromAt: Instant;
  toAt: Instant;
}

/** The time that something takes up; an end that is not after its start makes it a moment. */
export interface TimeSpan {
  startAt: Instant;
  endAt: Instant;
}

/** Whether a span lies in a window, at least in part. Every test of a window is this one: a block of a month ends with its end. */
export function overlaps(span: TimeSpan, window: TimeWindow): boolean {
  return span.startAt < window.toAt && !hasPassed(span, window);
}

/** Whether a span lies wholly before a window: time has passed over it, or it was moved there. */
export function hasPassed({ startAt, endAt }: TimeSpan, { fromAt }: TimeWindow): boolean {
  return Math.max(endAt, startAt + 1) <= fromAt;
}
