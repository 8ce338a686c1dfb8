import { DAY_MS, type Instant, MINUTE_MS } from '../model/time.ts';

/** What to do with a local time that a clock change skips or repeats. */
export interface LocalTimeRules {
  gap: 'later' | 'earlier' | 'set-aside';
  overlap: 'earlier' | 'later' | 'set-aside';
}

/** Local time of one IANA zone. Wall times are given as the epoch milliseconds that they would be in UTC. */
export interface Zone {
  /** Milliseconds that local time is ahead of UTC at an instant. */
  offsetAt(instant: Instant): number;
  /** The instant of a wall time; null when the rules set it aside. */
  instantOf(wallMs: number, rules: LocalTimeRules): Instant | null;
  /** First instant of a local date that is given as its midnight in UTC. */
  startOfDay(dateMs: number): Instant;
}

/** Clock changes fall on quarters of an hour in UTC, so one offset holds for a whole quarter. */
const QUARTER_MS = 15 * MINUTE_MS;
const REMEMBERED_QUARTERS = 50_000;
const START_OF_DAY: LocalTimeRules = { gap: 'later', overlap: 'earlier' };

/** A zone whose offsets are remembered, since asking Intl costs some microseconds and lists have 200,000 rows. */
export function createZone(name: string): Zone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const offsets = new Map<number, number>();

  function offsetAt(instant: Instant): number {
    const quarter = Math.floor(instant / QUARTER_MS);
    const known = offsets.get(quarter);
    if (known !== undefined) return known;
    if (offsets.size >= REMEMBERED_QUARTERS) offsets.clear();
    const offset = wallTime(format, quarter * QUARTER_MS) - quarter * QUARTER_MS;
    offsets.set(quarter, offset);
    return offset;
  }

  function instantOf(wallMs: number, rules: LocalTimeRules): Instant | null {
    const before = offsetAt(wallMs - DAY_MS);
    const after = offsetAt(wallMs + DAY_MS);
    if (before === after && offsetAt(wallMs - before) === before) return wallMs - before;
    const candidates = [...new Set([wallMs - before, wallMs - after])].sort((a, b) => a - b);
    const [first, second] = candidates.filter((instant) => instant + offsetAt(instant) === wallMs);
    if (first !== undefined && second !== undefined) return choose(rules.overlap, first, second);
    if (first !== undefined) return first;
    return choose(rules.gap, candidates[0] ?? wallMs, candidates.at(-1) ?? wallMs);
  }

  return { offsetAt, instantOf, startOfDay: (dateMs) => instantOf(dateMs, START_OF_DAY) ?? dateMs };
}

function choose(rule: 'earlier' | 'later' | 'set-aside', earlier: Instant, later: Instant): Instant | null {
  if (rule === 'set-aside') return null;
  return rule === 'earlier' ? earlier : later;
}

function wallTime(format: Intl.DateTimeFormat, instant: Instant): number {
  const parts: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of format.formatToParts(instant)) parts[type] = Number(value);
  const { year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute, second);
}
