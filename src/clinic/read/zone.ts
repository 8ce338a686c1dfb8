import { DAY_MS, type Instant } from '../../model/time.ts';
import { offsetMs } from '../../model/zones.ts';

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

const START_OF_DAY: LocalTimeRules = { gap: 'later', overlap: 'earlier' };

/** Local time of a zone by its name; what its offsets are is known once for all that use it. */
export function createZone(name: string): Zone {
  const offsetAt = (instant: Instant) => offsetMs(name, instant);

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
