import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What is read of vitest's JSON report. */
interface Report {
  testResults: {
    name: string;
    status: string;
    message: string;
    assertionResults: { fullName: string; status: string; failureMessages: string[] }[];
  }[];
}

/** A test that failed, or a file without a result. */
export interface FailedTest {
  /** Path from the project's folder. */
  file: string;
  name: string;
  message: string;
}

const projectRoot = fileURLToPath(new URL('..', import.meta.url));

/** Runs test files, or those in folders, once. @param options.config another configuration of vitest than the project's */
export async function failedTests(
  files: readonly string[],
  { env = {}, config }: { env?: Record<string, string>; config?: string } = {},
): Promise<FailedTest[]> {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-tests-'));
  try {
    const reportFile = join(folder, 'report.json');
    const programs = join(projectRoot, 'node_modules/.bin');
    const args = ['run', ...files, '--reporter=json', `--outputFile=${reportFile}`];
    if (config !== undefined) args.push(`--config=${config}`);
    const child = spawn(join(programs, 'vitest'), args, {
      cwd: projectRoot,
      env: { ...process.env, ...env, PATH: `${programs}${delimiter}${process.env.PATH ?? ''}` },
      stdio: ['ignore', 'ignore', 2],
    });
    await once(child, 'close');
    // Without a report it ended before the first test, and said why.
    const { testResults }: Report = existsSync(reportFile)
      ? JSON.parse(readFileSync(reportFile, 'utf8'))
      : { testResults: [] };
    const failed = testResults.flatMap(({ name, status, message, assertionResults }): FailedTest[] => {
      const file = relative(projectRoot, name);
      const tests = assertionResults.filter((test) => test.status === 'failed');
      if (tests.length > 0)
        return tests.map(({ fullName, failureMessages }) => ({
          file,
          name: fullName,
          message: failureMessages.join('\n'),
        }));
      return status === 'failed' ? [{ file, name: '', message }] : [];
    });
    if (failed.length > 0 || child.exitCode === 0) return failed;
    return [{ file: 'vitest', name: '', message: `exited with ${String(child.exitCode)}` }];
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
