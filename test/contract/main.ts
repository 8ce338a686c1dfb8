import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadReports, REPORT_DIRECTORY, renderContract, rowsOf } from './report.ts';

/** Runs the contract suite over every connector and prints the results, as a table or (`--json`) as an array. */
const { values } = parseArgs({ options: { json: { type: 'boolean' } } });

rmSync(REPORT_DIRECTORY, { recursive: true, force: true });
process.stderr.write('Running the contract suite over every connector …\n');
const tests = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', 'test/contract'], {
  stdio: ['ignore', 2, 2],
});
await once(tests, 'exit');
const reports = loadReports();
process.stdout.write(`${values.json === true ? JSON.stringify(rowsOf(reports), null, 2) : renderContract(reports)}\n`);
process.exitCode = tests.exitCode ?? 1;
