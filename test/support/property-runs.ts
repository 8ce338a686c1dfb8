import { fileURLToPath } from 'node:url';
import type { Plugin } from 'vitest/config';

/** Number of cases that each property tries at least. */
const CASES_VARIABLE = 'PROPERTY_CASES';
/** Seed of each property. */
const SEED_VARIABLE = 'PROPERTY_SEED';

/** How properties are run, unless a property fixes its own seed. */
export interface PropertyRuns {
  /** A property with a higher number keeps that number. */
  cases?: number;
  seed?: number;
}

/** @returns the environment variables that give these runs to the tests */
export function propertyRunsEnv({ cases, seed }: PropertyRuns): Record<string, string> {
  return {
    ...(cases === undefined ? {} : { [CASES_VARIABLE]: String(cases) }),
    ...(seed === undefined ? {} : { [SEED_VARIABLE]: String(seed) }),
  };
}

/** Reads what {@link propertyRunsEnv} wrote. @throws Error if a variable is not an integer */
export function readPropertyRuns(env: NodeJS.ProcessEnv): PropertyRuns {
  const [cases, seed] = [CASES_VARIABLE, SEED_VARIABLE].map((name) => {
    const text = env[name];
    if (text === undefined) return undefined;
    if (!Number.isInteger(Number(text)) || text.trim() === '') throw new Error(`${name} is not an integer`);
    return Number(text);
  });
  return { ...(cases === undefined ? {} : { cases }), ...(seed === undefined ? {} : { seed }) };
}

/** They decide on the number of cases themselves: `tried.ts` by time. */
const EXEMPT = ['repeated-fast-check.ts', 'tried.ts'].map(pathOf);

/** Gives tests the fast-check of `repeated-fast-check.ts` if a number of cases or a seed is set in `env`. */
export function propertyRunsPlugin(env: NodeJS.ProcessEnv): Plugin {
  const isSet = Object.keys(readPropertyRuns(env)).length > 0;
  return {
    name: 'property-runs',
    enforce: 'pre',
    resolveId: (source, importer = '') =>
      isSet && source === 'fast-check' && !EXEMPT.includes(importer) ? pathOf('repeated-fast-check.ts') : undefined,
  };
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
