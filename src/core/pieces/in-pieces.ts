import type { Pieces, Turn } from '../model/pieces.ts';

/** Maximum time of all long works together without a pause for lease renewals, vendor answers and health checks. */
const TURN_MS = 1;

/** One of this number of iterations is for the work that waits longest. */
const TURNS_OF_LONGEST_WAIT = 4;

/** Work that waits for the event loop. */
interface Waiting {
  /** Time that the work took so far, in milliseconds. */
  usedMs: number;
  resume(): void;
}

/**
 * Divides the event loop of the process between long works: in each iteration of the loop, the works share `TURN_MS`. Separate times would
 * delay other events by the sum.
 */
class LoopTurn implements Turn {
  /** In the order of arrival. */
  readonly #waiting: Waiting[] = [];
  #beganAt: number | null = null;
  #count = 0;

  /** Begins an iteration's time at its first use. */
  isOver(): boolean {
    const now = performance.now();
    if (this.#beganAt !== null) return now - this.#beganAt >= TURN_MS;
    this.#beganAt = now;
    setImmediate(() => this.#end());
    return false;
  }

  /** Waits for another iteration. */
  next(usedMs: number): Promise<void> {
    return new Promise((resume) => {
      this.#waiting.push({ usedMs, resume });
    });
  }

  /**
   * Resumes one work in each iteration: mostly the work that took least, so that a long work costs a short one a quarter of the time at most,
   * and every fourth time the work that waits longest, so that each work ends.
   */
  #end(): void {
    this.#beganAt = null;
    this.#count += 1;
    const isForShortest = this.#count % TURNS_OF_LONGEST_WAIT !== 0;
    const least = isForShortest ? Math.min(...this.#waiting.map(({ usedMs }) => usedMs)) : null;
    const at = this.#waiting.findIndex(({ usedMs }) => least === null || usedMs === least);
    const [next] = at === -1 ? [] : this.#waiting.splice(at, 1);
    if (next === undefined) return;
    this.isOver();
    next.resume();
  }
}

const turn = new LoopTurn();

/**
 * Runs long work with pauses, so that tens of thousands of records do not block the process for seconds.
 * @throws the signal's reason, between two pieces
 */
export async function inPieces<Result>(work: Pieces<Result>, signal?: AbortSignal): Promise<Result> {
  let usedMs = 0;
  for (;;) {
    if (turn.isOver()) {
      await turn.next(usedMs);
      signal?.throwIfAborted();
    }
    const beganAt = performance.now();
    for (;;) {
      const step = work.next(turn);
      if (step.done === true) return step.value;
      if (step.value !== undefined) await step.value;
      if (turn.isOver()) break;
    }
    usedMs += performance.now() - beganAt;
  }
}

/** Waits for another iteration of the event loop if the time of this one is used. For loops that are no `Pieces`. */
export async function pause(): Promise<void> {
  if (turn.isOver()) await turn.next(0);
}
