import type { Pieces } from '../model/pieces.ts';

/** Maximum time of all long works together without a pause for lease renewals, vendor answers and health checks. */
const TURN_MS = 8;

/** Work that waits for a turn of the event loop. */
interface Waiting {
  /** Time that the work took so far, in milliseconds. */
  usedMs: number;
  resume(): void;
}

/** Works that wait, in the order of their arrival. */
const waiting: Waiting[] = [];
let turnBeganAt = 0;
let isTurn = false;
let turns = 0;

/**
 * Runs long work with pauses, so that tens of thousands of records do not block the process for seconds. Works share one turn of the event
 * loop: several long works together delay other events no more than one does.
 * @throws the signal's reason, between two pieces
 */
export async function inPieces<Result>(work: Pieces<Result>, signal?: AbortSignal): Promise<Result> {
  let usedMs = 0;
  for (;;) {
    if (isTurnOver()) {
      await turn(usedMs);
      signal?.throwIfAborted();
    }
    const beganAt = performance.now();
    for (;;) {
      const step = work.next();
      if (step.done === true) return step.value;
      if (step.value !== undefined) await step.value;
      if (isTurnOver()) break;
    }
    usedMs += performance.now() - beganAt;
  }
}

/** Waits for another turn of the event loop if this one is over. For loops that are no `Pieces`. */
export async function pause(): Promise<void> {
  if (isTurnOver()) await turn(0);
}

/** Opens a turn at its first use. */
function isTurnOver(): boolean {
  const now = performance.now();
  if (isTurn) return now - turnBeganAt >= TURN_MS;
  isTurn = true;
  turnBeganAt = now;
  setImmediate(endTurn);
  return false;
}

function turn(usedMs: number): Promise<void> {
  return new Promise((resume) => {
    waiting.push({ usedMs, resume });
  });
}

/**
 * Resumes one work in each turn. Every second turn goes to the work that took least, so that a short work does not wait for all long ones;
 * the others go to the work that waits longest, so that each work ends.
 */
function endTurn(): void {
  isTurn = false;
  if (waiting.length === 0) return;
  turns += 1;
  let chosen = 0;
  if (turns % 2 === 0) {
    for (const [at, { usedMs }] of waiting.entries()) if (usedMs < waiting[chosen]!.usedMs) chosen = at;
  }
  const [next] = waiting.splice(chosen, 1);
  isTurnOver();
  next!.resume();
}
