import { type PropertyRuns, propertyRunsEnv } from '../test/support/property-runs.ts';
import { type FailedTest, failedTests } from './failed-tests.ts';
import { isUnitTest, propertyTestFiles } from './test-files.ts';

/** A property that failed, with the line that repeats it. */
export interface FailedProperty extends FailedTest {
  seed: number;
  command: string;
}

/** Runs of the same test files. */
interface Portion {
  files: string[];
  runs: PropertyRuns;
}

/**
 * Runs properties with one seed.
 * @param named test files; without names, those that start no server. Files that start servers keep their number of cases.
 */
export async function repeatProperties(
  named: readonly string[],
  { cases, seed, config }: { cases: number; seed: number; config?: string },
): Promise<FailedProperty[]> {
  const failed: FailedProperty[] = [];
  for (const { files, runs } of portionsOf(named, { cases, seed })) {
    const options = { env: propertyRunsEnv(runs), ...(config === undefined ? {} : { config }) };
    for (const test of await failedTests(files, options)) {
      const command = `npm run test:repeat -- --properties ${test.file} --cases ${cases} --seed ${seed}`;
      failed.push({ ...test, seed, command });
    }
  }
  return failed;
}

/** Each case of a property with servers takes long, so its file keeps the number. */
function portionsOf(named: readonly string[], { cases, seed }: Required<PropertyRuns>): Portion[] {
  const files = named.length > 0 ? named : propertyTestFiles().filter(isUnitTest);
  const [units, others] = [files.filter(isUnitTest), files.filter((file) => !isUnitTest(file))];
  return [
    { files: units, runs: { cases, seed } },
    { files: others, runs: { seed } },
  ].filter((portion) => portion.files.length > 0);
}
