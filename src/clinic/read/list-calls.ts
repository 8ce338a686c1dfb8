import type { ClinicContext } from '../http/call.ts';
import type { Gathered } from './gathering.ts';
import { type ListCall, mayReadAtOnce, type ReadRows, type Rows, readRows, rowsIn, unconditional } from './lists.ts';

/** The list calls of one read, which together list all of its records. */
export interface CallsOfRead {
  context: ClinicContext;
  gathered: Gathered;
  signal: AbortSignal;
  /** Parameters of each call, in order. */
  all: readonly ListCall['parameters'][];
  /** @param pageSizes numbers of rows that the call's pages bring */
  callFor(parameters: ListCall['parameters'], pageSizes: number[]): ListCall;
}

/**
 * Reads list calls, after the first several at the same time if the clinic's paging allows it, and yields their rows in order. If one fails,
 * the others end.
 */
export async function* readCalls(read: CallsOfRead, rows: Rows): AsyncGenerator<ReadRows, void> {
  const { context, gathered, all, callFor } = read;
  const stop = new AbortController();
  const signal = AbortSignal.any([read.signal, stop.signal]);
  // A clinic that refuses requests at present refuses only the first call.
  let hasAnswered = false;
  const mostAtOnce = () =>
    hasAnswered && mayReadAtOnce(context, 'appointments') ? context.profile.limits.requestsAtOnce : 1;
  const running: Promise<ReadRows>[] = [];
  const oldest = async () => {
    const rowsRead = (await running.shift()) as ReadRows;
    if (hasAnswered) return rowsRead;
    hasAnswered = true;
    if (mostAtOnce() > 1) context.budget?.expect?.(all.length - 1);
    return rowsRead;
  };
  /** Page sizes of the calls that run one after the other, and of each other call. */
  const inTurn: number[] = [];
  const sizes = new Set([inTurn]);
  try {
    for (const parameters of all) {
      while (running.length >= mostAtOnce()) yield await oldest();
      const pageSizes = mostAtOnce() === 1 ? inTurn : [];
      sizes.add(pageSizes);
      const rowsOfOthers = () => rowsIn([...sizes].filter((each) => each !== pageSizes).flat());
      const reading = readRows(context, { ...callFor(parameters, pageSizes), signal, rowsOfOthers }, gathered, rows);
      // The error is thrown where the rows would be yielded.
      reading.catch(() => {});
      running.push(reading);
    }
    while (running.length > 0) yield await oldest();
  } finally {
    stop.abort();
    await Promise.allSettled(running);
  }
}

/**
 * Repeats the calls that began before another list was found to change: a record may have moved from one list to another one that was read
 * before, and would be in neither. Repeated as often as a single list is; a partial read is not repeated.
 * @returns the rows of all calls in order, the same array if none was repeated; and whether no change was found after the last repetition
 */
export async function repeatOutdated(
  read: CallsOfRead,
  reads: readonly ReadRows[],
  rows: Rows,
): Promise<{ all: readonly ReadRows[]; isConsistent: boolean }> {
  let all = reads;
  for (let remaining = read.context.profile.limits.rereads; ; remaining -= 1) {
    const outdated = outdatedIn(all);
    if (outdated.length === 0 || all.some(({ reason }) => reason !== null)) return { all, isConsistent: true };
    if (remaining === 0) return { all, isConsistent: false };
    read.context.log.info({ lists: outdated.length }, 'lists changed during the read: reading other lists again');
    const repeated = [...all];
    const again = { ...read, all: read.all.filter((_, index) => outdated.includes(index)) };
    for await (const one of readCalls(again, unconditional(rows))) repeated[outdated.shift() ?? 0] = one;
    all = repeated;
  }
}

/** Returns indexes of reads that began before the newest change was known. */
function outdatedIn(reads: readonly ReadRows[]): number[] {
  const changedAt = Math.max(...reads.map(({ isReread, beganAt }) => (isReread ? beganAt : Number.NEGATIVE_INFINITY)));
  return reads.flatMap(({ beganAt }, index) => (beganAt < changedAt ? [index] : []));
}
