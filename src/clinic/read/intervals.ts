/** A start and an end, or a duration, in one text (ISO 8601): `2026-12-03T09:00/PT30M`, `…/2026-12-03T09:30`, `…/09:30`. */
const INTERVAL =
  /^(?<start>\d{4}-\d\d-\d\d.*?)\/(?:(?<duration>P[T\d].*)|(?<end>\d{4}-\d\d-\d\d.*)|(?<clock>\d\d:\d\d.*))$/i;

/** Two parts of an interval. */
interface Interval {
  start: string;
  end: string | null;
  duration: string | null;
}

/** Splits a text with an interval; null for another value. */
export function splitInterval(value: unknown): Interval | null {
  const groups = typeof value === 'string' && value.includes('/') ? INTERVAL.exec(value.trim())?.groups : undefined;
  if (groups?.start === undefined) return null;
  const { start, end, clock, duration = null } = groups;
  const day = start.slice(0, 'YYYY-MM-DD'.length);
  return { start, end: clock === undefined ? (end ?? null) : `${day}T${clock}`, duration };
}
