import fc from 'fast-check';
import { expect, test } from 'vitest';
import { propertyRunsEnv, readPropertyRuns } from './property-runs.ts';
import { repeatedFastCheck } from './repeated-fast-check.ts';

/** What a property draws. */
function drawn(runs: Parameters<typeof repeatedFastCheck>[0], own?: fc.Parameters<[number]>): number[] {
  const seen: number[] = [];
  repeatedFastCheck(runs).assert(
    fc.property(fc.integer(), (value) => {
      seen.push(value);
    }),
    own,
  );
  return seen;
}

test.each([
  { own: undefined, tried: 300 },
  { own: { numRuns: 20 }, tried: 300 },
  { own: { numRuns: 400 }, tried: 400 },
])('with 300 cases, a property with the parameters $own tries $tried', ({ own, tried }) => {
  expect(drawn({ cases: 300, seed: 1 }, own)).toHaveLength(tried);
});

test('a seed decides on the cases', () => {
  expect(drawn({ cases: 50, seed: 3 })).toEqual(drawn({ cases: 50, seed: 3 }));
  expect(drawn({ cases: 50, seed: 3 })).not.toEqual(drawn({ cases: 50, seed: 4 }));
});

test('a property with its own seed keeps its parameters', () => {
  expect(drawn({ cases: 300, seed: 1 }, { numRuns: 20, seed: 7 })).toEqual(drawn({}, { numRuns: 20, seed: 7 }));
});

test('a failure of an asynchronous property includes the seed', async () => {
  const property = fc.asyncProperty(fc.integer(), async () => false);
  await expect(repeatedFastCheck({ seed: -9 }).assert(property)).rejects.toThrow('seed: -9');
});

test.each([{}, { cases: 5 }, { seed: -6 }, { cases: 5, seed: 0 }])('the environment carries %o', (runs) => {
  expect(readPropertyRuns(propertyRunsEnv(runs))).toEqual(runs);
});

test.each(['', 'many', '1.5'])('a number of cases of %o is refused', (text) => {
  expect(() => readPropertyRuns({ PROPERTY_CASES: text })).toThrow('PROPERTY_CASES is not an integer');
});
