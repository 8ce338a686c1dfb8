// npm run test:repeat -- <test file …> [--times <n>] [--busy]: runs test files repeatedly, and lists failures with their number. A test
// that fails once in fifty times is a defect. `--busy` keeps every core at work meanwhile.
import { type ChildProcess, spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { failedTests } from './failed-tests.ts';

async function main(): Promise<number> {
  const { values, positionals: files } = parseArgs({
    allowPositionals: true,
    options: { times: { type: 'string', default: '50' }, busy: { type: 'boolean', default: false } },
  });
  const times = Number(values.times);
  if (files.length === 0 || !Number.isInteger(times) || times < 1) {
    console.error('usage: npm run test:repeat -- <test file …> [--times <n>] [--busy]');
    return 2;
  }
  const burners = values.busy ? Array.from({ length: availableParallelism() }, startBurner) : [];
  /** Failures by test, the first message of each. */
  const failures = new Map<string, { times: number; message: string }>();
  const seconds: number[] = [];
  try {
    for (let run = 1; run <= times; run += 1) {
      const startedAt = performance.now();
      for (const [test, message] of await failedTests(files)) {
        const known = failures.get(test);
        // Printed at once, so that failures are visible if the operator stops a long series.
        if (known === undefined) console.error(`[repeat] failed: ${test}\n${message.split('\n', 3).join('\n')}`);
        failures.set(test, { times: (known?.times ?? 0) + 1, message: known?.message ?? message });
      }
      seconds.push((performance.now() - startedAt) / 1_000);
      console.error(
        `[repeat] run ${run} of ${times}: ${seconds.at(-1)?.toFixed(1)} s, ${failures.size} tests have failed`,
      );
    }
  } finally {
    for (const burner of burners) burner.kill('SIGKILL');
  }
  const slowest = Math.max(...seconds).toFixed(1);
  console.log(
    `${files.length} files, ${times} times${values.busy ? ', every core busy' : ''}; the slowest run: ${slowest} s`,
  );
  for (const [test, { times: failed, message }] of failures) console.log(`\n${failed} times: ${test}\n${message}`);
  if (failures.size === 0) console.log('nothing failed');
  return failures.size === 0 ? 0 : 1;
}

/** Keeps one core at work until it is killed, or this process ends. */
function startBurner(): ChildProcess {
  const work =
    'process.stdin.on("end", () => process.exit()).resume(); (function burn() { for (const until = Date.now() + 50; Date.now() < until; ); setImmediate(burn); })();';
  return spawn(process.execPath, ['-e', work], { stdio: ['pipe', 'ignore', 'ignore'] });
}

process.exitCode = await main();
