// npm test [-- <options>]: lint, types, unused code and the English of texts, then the quick tests.
//   npm run test:all      the same with every test
//   npm run test:full     the tests that `npm test` leaves out, without the checks
//   --changed[=<revision>]  checks of changed files, and the tests that the change can break
//   <test file …>, and any option of vitest such as --coverage or -t
import { fileURLToPath } from 'node:url';
import { allTestFiles, TIER_VARIABLE, type Tier, testFilesOf } from '../test/support/tiers.ts';
import { changedFiles, existing, projectAt, testsOfChange } from './changed-tests.ts';
import { CHECKS, checksOf, report, runChecks, runStep } from './checks.ts';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

interface Run {
  checks: typeof CHECKS;
  /** Test files, or none for all. */
  files: readonly string[];
  /** Whether files of the quick tier have a limit of processor time. */
  limitsCpu: boolean;
  /** Remaining arguments, for vitest. */
  args: readonly string[];
}

/** @throws Error of git if the revision of `--changed` does not exist */
function runOf(args: readonly string[]): Run {
  const [tier, ...others] = args[0]?.startsWith('--tier=') ? args : ['--tier=quick', ...args];
  const rest = others.filter((arg) => !/^--changed(=|$)/.test(arg));
  const changed = others.find((arg) => /^--changed(=|$)/.test(arg));
  if (changed !== undefined) return runOfChange(changed.split('=')[1], rest);
  if (others.some((arg) => /^(\.\/)?test\//.test(arg)))
    return { checks: CHECKS, files: [], limitsCpu: false, args: rest };
  if (tier === '--tier=all') return { checks: CHECKS, files: [], limitsCpu: false, args: rest };
  if (tier === '--tier=full')
    return { checks: [], files: testFilesOf('full', projectRoot), limitsCpu: false, args: rest };
  const files = testFilesOf('quick' satisfies Tier, projectRoot);
  return { checks: CHECKS, files, limitsCpu: !rest.includes('--coverage'), args: rest };
}

function runOfChange(since: string | undefined, args: readonly string[]): Run {
  const changed = changedFiles(projectRoot, since);
  const files = testsOfChange(changed, projectAt(projectRoot));
  console.error(
    `[test] ${changed.length} changed files can break ${files.length} of ${allTestFiles(projectRoot).length} test files`,
  );
  return { checks: checksOf(existing(projectRoot, changed)), files, limitsCpu: false, args };
}

async function main(): Promise<number> {
  const startedAt = performance.now();
  const { checks, files, limitsCpu, args } = runOf(process.argv.slice(2));
  const checked = await runChecks(checks);
  if (checked !== 0) return checked;
  const tests = await runStep({
    name: 'tests',
    command: ['vitest', 'run', ...args, ...files],
    env: limitsCpu ? { [TIER_VARIABLE]: 'quick' } : {},
    live: true,
  });
  if (tests === 0) report('all', startedAt, 'passed');
  return tests;
}

process.exitCode = await main();
