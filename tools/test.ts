// npm test [-- <arguments for vitest>]: lint, types and what is unused, then the tests. With --coverage that of src/ too, for half as long again.
import { report, runChecks, runStep } from './checks.ts';

async function main(): Promise<number> {
  const startedAt = performance.now();
  const checks = await runChecks();
  if (checks !== 0) return checks;
  const tests = await runStep({
    name: 'tests',
    command: ['vitest', 'run', ...process.argv.slice(2)],
    live: true,
  });
  if (tests === 0) report('all', startedAt, 'passed');
  return tests;
}

process.exitCode = await main();
