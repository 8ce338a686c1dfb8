import fc, { type IAsyncProperty } from 'fast-check';

/** How many cases of a property are tried. */
export interface Tries {
  /** Tried whatever they take: fewer would prove nothing. */
  least: number;
  /** Maximum number of cases, within the time limit. */
  most: number;
  forMs: number;
}

/** Cases between two checks of the time. */
const TRIED_TOGETHER = 10;

/**
 * Checks a property with random cases and prints their number. A busy host tries fewer cases, but at least `least`: a time limit only
 * could leave a property almost untested.
 * @param name name of the cases in the printed line
 * @param wished requested number of cases, such as 20000, without a time limit
 * @throws Error with the seed if a case fails
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
  const run = (numRuns: number) => fc.assert(property, { numRuns, asyncReporter: report });
  await run(wished === undefined ? least : Number(wished));
  // A time limit of fast-check would leave the last case running during the next test.
  while (wished === undefined && tried < most && performance.now() - begun < forMs) {
    await run(Math.min(TRIED_TOGETHER, most - tried));
  }
  console.info(`${name}: ${tried} cases tried`);
}
