import fc, { type IAsyncProperty } from 'fast-check';

/** How many cases of a property are tried. */
export interface Tries {
  /** Tried whatever they take: fewer would prove nothing. */
  least: number;
  /** Beyond these it goes on while there is time. */
  most: number;
  forMs: number;
}

/**
 * Holds a property against drawn cases, and says how many there were. A busy machine makes them fewer, never fewer than `least`: a bound by time
 * alone would hide that next to nothing was tried.
 * @param name of what is tried, in the line that tells the number
 * @param wished a number that somebody asked for, such as 20000: all of them, without a bound
 * @throws Error with the seed when a case fails
 */
export async function tryCases<Case>(
  name: string,
  property: IAsyncProperty<Case>,
  { least, most, forMs }: Tries,
  wished?: string,
): Promise<void> {
  const begun = performance.now();
  let tried = 0;
  const report = async (details: fc.RunDetails<Case>) => {
    tried += details.numRuns;
    if (details.failed) throw new Error(await fc.asyncDefaultReportMessage(details), { cause: details.errorInstance });
  };
  await fc.assert(property, { numRuns: wished === undefined ? least : Number(wished), asyncReporter: report });
  const remainingMs = forMs - (performance.now() - begun);
  if (wished === undefined && remainingMs > 0)
    await fc.assert(property, { numRuns: most - least, interruptAfterTimeLimit: remainingMs, asyncReporter: report });
  console.info(`${name}: ${tried} cases tried`);
}
