import { setImmediate } from 'node:timers/promises';
import type { Pieces } from '../model/pieces.ts';

/** Maximum time without a pause for lease renewals, vendor answers and health checks. */
const TURN_MS = 8;

/**
 * Runs long work with pauses, so that tens of thousands of records do not block the process for seconds.
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
