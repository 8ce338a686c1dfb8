import { hash } from 'node:crypto';
import { type Instant, SECOND_MS } from '../model/time.ts';
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
const MOST_NEXT_48H_PER_WHOLE = 12;

/**
 * The pace of a cycle that begins now, by when the one before began. Cycles of a client queue for its budget, so where it is short they come
 * late. By as much as they do fewer of them read all; when they come in time again more and more do.
 * @param before the last cycle's report; absent before the first
 * @param everyMs how often cycles should begin
 */
export function paceOf(
  before: Pick<RunReport, 'pace' | 'startedAt'> | undefined,
  startedAt: Instant,
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
  return changed(pace, startedAt, Math.max(0, pace.nearPerWhole - 1));
}

/** The interval is what the requests of all cycles take: as many times fewer of them must read all. */
function slower(pace: Pace, startedAt: Instant, times: number): Pace {
  const step = pace.nearPerWhole === 0 ? times : Math.min(times, LARGEST_STEP);
  const cyclesPerWhole = Math.ceil((pace.nearPerWhole + 1) * step);
  return changed(pace, startedAt, Math.min(cyclesPerWhole - 1, MOST_NEXT_48H_PER_WHOLE));
}

/**
 * Tenants of a client come late together. So that they don't all read all together after that, each goes on at another place of its way from
 * one reading of all to the next: as far on it as it was, and by chance a little further.
 */
function changed({ isPlain, ...before }: Pace, startedAt: Instant, next48hPerWhole: number): Pace {
  const cyclesPerWhole = before.nearPerWhole + 1;
  const position = (before.nearSince + drawOf(startedAt, cyclesPerWhole)) / cyclesPerWhole;
  return {
    isPlain,
    nearPerWhole: next48hPerWhole,
    nearSince: Math.floor(position * (next48hPerWhole + 1)),
    late: 0,
    inTime: 0,
  };
}

/** A number from 0 to below 1, the same for the same cycle. What is simpler than a hash falls in step with the cycles. */
function drawOf(startedAt: Instant, cyclesPerWhole: number): number {
  return hash('sha256', `${startedAt} ${cyclesPerWhole}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Whether the pace lets this cycle read the next two days alone. */
export function isNext48hDue({ nearPerWhole, nearSince, isPlain }: Pace): boolean {
  return isPlain && nearSince < nearPerWhole;
}
