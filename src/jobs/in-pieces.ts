import { setImmediate } from 'node:timers/promises';
import type { Pieces } from '../model/pieces.ts';

/** How long nobody else has a turn: leases are renewed, vendors answered and health told in between. */
const TURN_MS = 20;

/**
 * Has long work done with breaks, so that tens of thousands of records don't keep the whole process waiting for seconds.
 * @throws the signal's reason, between two pieces
 */
export async function inPieces<Result>(work: Pieces<Result>, signal?: AbortSignal): Promise<Result> {
  let turnBegan = performance.now();
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    if (step.value !== undefined) await step.value;
    if (performance.now() - turnBegan < TURN_MS) continue;
    await setImmediate();
    signal?.throwIfAborted();
    turnBegan = performance.now();
  }
}
