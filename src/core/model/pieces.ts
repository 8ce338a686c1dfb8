/** Time that works share. Its clock is the caller's, so that the work has none. */
export interface Turn {
  /** Whether other work must run now. */
  isOver(): boolean;
}

/**
 * Long work in pieces of at most a few milliseconds. The caller can run other work after each piece, and can wait for a yielded promise. A
 * work that receives the turn need not yield until the turn is over: a yield through several generators costs as much as the comparison of
 * a record.
 */
export type Pieces<Result> = Generator<Promise<void> | undefined, Result, Turn | undefined>;

/**
 * Applies work to each element. A piece ends after each element if no turn says otherwise, because one with hundreds of long texts takes many
 * milliseconds.
 */
export function* eachInPieces<Entry>(entries: Iterable<Entry>, work: (entry: Entry) => void): Pieces<void> {
  let turn: Turn | undefined;
  for (const entry of entries) {
    work(entry);
    if (turn === undefined || turn.isOver()) turn = yield;
  }
}

/** Runs all pieces without a break. */
export function atOnce<Result>(work: Pieces<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Splits a list into slices of at most `size`. */
export function slices<Element>(list: readonly Element[], size: number): Element[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}

/** Runs work for each element, for at most so many at the same time. @throws the first error of the work; no further work begins then */
export async function eachAtMost<Element extends object>(
  most: number,
  elements: readonly Element[],
  work: (element: Element) => Promise<unknown>,
): Promise<void> {
  const waiting = [...elements].reverse();
  const worker = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) await work(next);
  };
  try {
    await Promise.all(Array.from({ length: most }, worker));
  } finally {
    waiting.length = 0;
  }
}
