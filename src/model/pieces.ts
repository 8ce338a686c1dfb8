/**
 * Long work in pieces of at most a few milliseconds: whoever has it done may let others have their turn after each. A promise is awaited
 * before the work goes on, where whoever has it done can wait.
 */
export type Pieces<Result> = Generator<Promise<void> | undefined, Result, undefined>;

/** Entries in a piece; one takes up to a tenth of a millisecond. */
const PIECE = 64;

/** Does something with each entry; a piece ends after every 64. */
export function* eachInPieces<Entry>(entries: Iterable<Entry>, work: (entry: Entry) => void): Pieces<void> {
  let count = 0;
  for (const entry of entries) {
    work(entry);
    count += 1;
    if (count % PIECE === 0) yield;
  }
}

/** Has the work done without a break. */
export function atOnce<Result>(work: Pieces<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

/** Cuts a list into pieces of at most `size`, the last one shorter. */
export function slices<Element>(list: readonly Element[], size: number): Element[][] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, index) =>
    list.slice(index * size, (index + 1) * size),
  );
}
