import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { DIALECT_NAMES } from '../../../sandbox/clinic/dialects/index.ts';
import { renderTable } from '../../../src/operator/cli/table.ts';

/** How the suite went in one dialect. */
interface DialectResult {
  passed: number;
  failed: number;
}

/** The part of vitest's JSON report that is read here. */
interface TestReport {
  testResults: { name: string; status: string; assertionResults: { status: string }[] }[];
}

/** Runs the suite of the whole API in every dialect and prints how many tests passed, as a table or (`--json`) as an object. */
const { values } = parseArgs({ options: { json: { type: 'boolean' } } });
const folder = mkdtempSync(join(tmpdir(), 'dialects-'));
try {
  const file = join(folder, 'report.json');
  process.stderr.write('Running the suite of the clinic API in every dialect …\n');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
  const tests = spawn(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', 'test/clinic/whole-api', ...reporters],
    {
      stdio: ['ignore', 2, 2],
    },
  );
  await once(tests, 'exit');
  const results = resultsOf(JSON.parse(readFileSync(file, 'utf8')) as TestReport);
  process.stdout.write(`${values.json === true ? JSON.stringify(results, null, 2) : rendered(results)}\n`);
  process.exitCode = tests.exitCode ?? 1;
} finally {
  rmSync(folder, { recursive: true });
}

/** A file that failed to start is one failure. */
function resultsOf({ testResults }: TestReport): Record<string, DialectResult> {
  const resultOf = (dialect: string): DialectResult => {
    const file = testResults.find(({ name }) => basename(name) === `${dialect}.test.ts`);
    const count = (wanted: string) => file?.assertionResults.filter(({ status }) => status === wanted).length ?? 0;
    const failed = count('failed');
    return { passed: count('passed'), failed: file?.status === 'passed' ? failed : Math.max(1, failed) };
  };
  return Object.fromEntries(DIALECT_NAMES.map((dialect) => [dialect, resultOf(dialect)]));
}

function rendered(results: Record<string, DialectResult>): string {
  const columns = ['dialect', 'passed', 'failed'];
  const rows = Object.entries(results).map(([name, { passed, failed }]) => [name, String(passed), String(failed)]);
  return renderTable(columns, rows);
}
