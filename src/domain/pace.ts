import { hash } from 'node:crypto';
import { type Instant, SECOND_MS } from '../core/model/time.ts';
import { FIRST_PACE, type Pace, type RunReport } from './runs.ts';

/** Delay after which a cycle is late: a share of the interval, and at least this time. */
const LATE = { share: 0.1, leastMs: 30 * SECOND_MS };
/** Maximum delay of a punctual cycle, as a share of the interval. */
const IN_TIME_SHARE = 0.05;
/** A single late cycle may result from a suspended host. */
const LATE_CYCLES = 2;
/** After this number of consecutive punctual cycles there is spare capacity, and earlier late cycles are ignored. */
const IN_TIME_IN_TURN = 3;
/** Maximum reduction of full reads in one step once some cycles read only the next two days, because further steps gain little. */
const LARGEST_STEP = 1.5;
/** More of these cycles make the next two days little fresher, and all other data much older. */
const MOST_NEXT_48H_PER_WHOLE = 12;

/**
 * Returns the pace of a cycle from the start of the previous one. Cycles of a client queue for its request budget, so cycles start late if
 * the budget is too small. In proportion to the delay, fewer cycles read everything; punctual cycles increase the number again.
 * @param before the last cycle's report; absent before the first
 * @param everyMs configured interval of cycles
 */
export function paceOf(
  before: Pick<RunReport, 'pace' | 'startedAt'> | undefined,
  startedAt: Instant,
  everyMs: number,
): Pace {
  if (before === undefined) return FIRST_PACE;
  const { pace } = before;
  const intervalMs = startedAt - before.startedAt;
  // A request started an extra cycle, or the clock was set back.
  if (intervalMs < everyMs / 2) return pace;
  if (intervalMs > everyMs + Math.max(everyMs * LATE.share, LATE.leastMs)) {
    const late = pace.late + 1;
    return late < LATE_CYCLES ? { ...pace, late, inTime: 0 } : slower(pace, startedAt, intervalMs / everyMs);
  }
  const inTime = intervalMs <= everyMs * (1 + IN_TIME_SHARE) ? pace.inTime + 1 : 0;
  if (inTime < IN_TIME_IN_TURN) return { ...pace, inTime };
  return changed(pace, startedAt, Math.max(0, pace.soonPerWhole - 1));
}

/** The interval equals the duration of all cycles' requests, and full reads must decrease in proportion. */
function slower(pace: Pace, startedAt: Instant, times: number): Pace {
  const step = pace.soonPerWhole === 0 ? times : Math.min(times, LARGEST_STEP);
  const cyclesPerWhole = Math.ceil((pace.soonPerWhole + 1) * step);
  return changed(pace, startedAt, Math.min(cyclesPerWhole - 1, MOST_NEXT_48H_PER_WHOLE));
}

/**
 * Changes the pace. Tenants of a client become late together. To avoid simultaneous full reads, each tenant continues from its progress
 * towards the next full read, plus a random step.
 */
function changed({ isPlain, ...before }: Pace, startedAt: Instant, next48hPerWhole: number): Pace {
  const cyclesPerWhole = before.soonPerWhole + 1;
  const position = (before.soonSince + drawOf(startedAt, cyclesPerWhole)) / cyclesPerWhole;
  return {
    isPlain,
    soonPerWhole: next48hPerWhole,
    soonSince: Math.floor(position * (next48hPerWhole + 1)),
    late: 0,
    inTime: 0,
  };
}

/** Returns a number from 0 to below 1, constant for one cycle. A simpler function than a hash would correlate with the cycles. */
function drawOf(startedAt: Instant, cyclesPerWhole: number): number {
  return hash('sha256', `${startedAt} ${cyclesPerWhole}`, 'buffer').readUInt32BE() / 2 ** 32;
}

/** Returns whether the pace allows a cycle that reads only the next two days. */
export function isNext48hDue({ soonPerWhole, soonSince, isPlain }: Pace): boolean {
  return isPlain && soonSince < soonPerWhole;
}
