/**
 * Long work in pieces of at most a few milliseconds. The caller can run other work after each piece, and can wait for a yielded promise.
 */
export type Pieces<Result> = Generator<Promise<void> | undefined, Result, undefined>;

/** Applies work to each element; a piece ends after each, because one with hundreds of long texts takes many milliseconds. */
export function* eachInPieces<Entry>(entries: Iterable<Entry>, work: (entry: Entry) => void): Pieces<void> {
  for (const entry of entries) {
    work(entry);
    yield;
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
