import { SECOND_MS } from '../model/time.ts';
import { FIRST_PACE, type Pace, type RunReport } from '../state/runs.ts';

/** A cycle is late when it begins so much after its time, as a share of the interval, and by this at least. */
const LATE = { share: 0.1, leastMs: 30 * SECOND_MS };
/** It begins in time when it is no later than by this share. */
const IN_TIME_SHARE = 0.05;
/** One late cycle may come of a machine that stood still. */
const LATE_CYCLES = 2;
/** So many cycles in time, one after the other: there is room for more, and what came late before is forgotten. */
const IN_TIME_IN_TURN = 3;
/** Once some cycles read the next two days alone, at most so many times fewer of them read all with one step: what is left to gain is little. */
const LARGEST_STEP = 1.5;
/** With more of them the next two days would be little fresher, and all else much older. */
const MOST_NEAR_PER_WHOLE = 12;

/**
 * The pace of a cycle that begins now, by when the one before began. Cycles of a client queue for its budget, so where it is short they come
 * late. By as much as they do fewer of them read all; when they come in time again more and more do.
 * @param before the last cycle's report; absent before the first
 * @param everyMs how often cycles should begin
 */
export function paceOf(
  before: Pick<RunReport, 'pace' | 'startedAt'> | undefined,
  startedAt: number,
  everyMs: number,
): Pace {
  if (before === undefined) return FIRST_PACE;
  const { pace } = before;
  const intervalMs = startedAt - before.startedAt;
  // Somebody asked for it in between, or the clock was put back.
  if (intervalMs < everyMs / 2) return pace;
  if (intervalMs > everyMs + Math.max(everyMs * LATE.share, LATE.leastMs)) {
    const late = pace.late + 1;
    return late < LATE_CYCLES ? { ...pace, late, inTime: 0 } : slower(pace, startedAt, intervalMs / everyMs);
  }
  const inTime = intervalMs <= everyMs * (1 + IN_TIME_SHARE) ? pace.inTime + 1 : 0;
  if (inTime < IN_TIME_IN_TURN) return { ...pace, inTime };
  return { ...pace, late: 0, inTime: 0, nearPerWhole: Math.max(0, pace.nearPerWhole - 1) };
}

/**
 * The interval is what the requests of all cycles take: as many times fewer of them must read all. Tenants of a client come late together;
 * so that they don't all read all together after that, each begins its count at another number, by the moment of its cycle.
 */
function slower(pace: Pace, startedAt: number, times: number): Pace {
  const isFirst = pace.nearPerWhole === 0;
  const cyclesPerWhole = Math.ceil((pace.nearPerWhole + 1) * (isFirst ? times : Math.min(times, LARGEST_STEP)));
  const nearPerWhole = Math.min(cyclesPerWhole - 1, MOST_NEAR_PER_WHOLE);
  const nearSince = isFirst ? Math.floor(startedAt) % (nearPerWhole + 1) : pace.nearSince;
  return { ...pace, late: 0, inTime: 0, nearPerWhole, nearSince };
}

/** Whether the pace lets this cycle read the next two days alone. */
export function isNearDue({ nearPerWhole, nearSince, isPlain }: Pace): boolean {
  return isPlain && nearSince < nearPerWhole;
}
