// Stands in for fast-check in `npm run test:repeat -- --properties`: see `propertyRunsPlugin`.
import * as fastCheck from 'fast-check';
import { type PropertyRuns, readPropertyRuns } from './property-runs.ts';

export * from 'fast-check';

type Parameters<Case> = fastCheck.Parameters<Case>;

/**
 * @returns the parameters of a property for these runs. A property with its own seed draws the same cases in each run, so it keeps its
 * parameters.
 */
function parametersFor<Case>(runs: PropertyRuns, own: Parameters<Case> = {}): Parameters<Case> {
  if (own.seed !== undefined) return own;
  const { cases, seed } = runs;
  return {
    ...own,
    ...(cases === undefined ? {} : { numRuns: Math.max(cases, own.numRuns ?? 0) }),
    ...(seed === undefined ? {} : { seed }),
  };
}

/** fast-check with a minimum number of cases, and one seed for all properties. */
export function repeatedFastCheck(runs: PropertyRuns): typeof fastCheck.default {
  const check = (property: fastCheck.IRawProperty<unknown>, own?: Parameters<unknown>) =>
    fastCheck.check(property, parametersFor(runs, own));
  const assert = (property: fastCheck.IRawProperty<unknown>, own?: Parameters<unknown>) =>
    fastCheck.assert(property, parametersFor(runs, own));
  return { ...fastCheck.default, check, assert } as typeof fastCheck.default;
}

export default repeatedFastCheck(readPropertyRuns(process.env));
