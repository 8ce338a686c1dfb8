import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { loadReports, REPORT_DIRECTORY, renderCanaries } from './scan.ts';

/** Runs the journeys in which patients and secrets are planted, and prints every place that was searched, as a table or (`--json`) as JSON. */
const { values } = parseArgs({ options: { json: { type: 'boolean' } } });
const JOURNEYS = ['test/e2e/privacy.test.ts', 'test/e2e/crm-privacy.test.ts', 'test/canaries'];

rmSync(REPORT_DIRECTORY, { recursive: true, force: true });
process.stderr.write('Planting canaries, and looking for them …\n');
const tests = spawn(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...JOURNEYS], {
  stdio: ['ignore', 2, 2],
});
await once(tests, 'exit');
const reports = loadReports();
process.stdout.write(`${values.json === true ? JSON.stringify(reports, null, 2) : renderCanaries(reports)}\n`);
process.exitCode = tests.exitCode ?? 1;
