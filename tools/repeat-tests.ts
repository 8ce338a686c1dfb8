// npm run test:repeat -- <test file …> [--times <n>] [--busy]: runs test files repeatedly, and lists failures with their number. A test
// that fails once in fifty times is a defect. `--busy` keeps every core at work meanwhile.
// npm run test:repeat -- --properties [test file …] [--cases <n>] [--seeds <n> | --seed <n> …]: tries more cases of each property, with
// several seeds, and lists failures with the command that repeats each.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { failedTests } from './failed-tests.ts';
import { type FailedProperty, repeatProperties } from './repeat-properties.ts';

const USAGE = `usage: npm run test:repeat -- <test file …> [--times <n>] [--busy]
       npm run test:repeat -- --properties [test file …] [--cases <n>] [--seeds <n> | --seed <n> …] [--busy]`;

async function main(): Promise<number> {
  const { values, positionals: files } = parseArgs({
    allowPositionals: true,
    options: {
      times: { type: 'string', default: '50' },
      busy: { type: 'boolean', default: false },
      properties: { type: 'boolean', default: false },
      cases: { type: 'string', default: '1000' },
      seeds: { type: 'string', default: '3' },
      seed: { type: 'string', multiple: true },
    },
  });
  const [times, cases, count] = [Number(values.times), Number(values.cases), Number(values.seeds)];
  const seeds = values.seed?.map(Number);
  const areCounts = [times, cases, count].every((value) => Number.isInteger(value) && value >= 1);
  if ((files.length === 0 && !values.properties) || !areCounts || seeds?.every(Number.isInteger) === false) {
    console.error(USAGE);
    return 2;
  }
  const burners = values.busy ? Array.from({ length: availableParallelism() }, startBurner) : [];
  try {
    if (!values.properties) return await repeatTests(files, { times, busy: values.busy });
    return await repeatAllSeeds(files, { cases, seeds: seeds ?? Array.from({ length: count }, newSeed) });
  } finally {
    for (const burner of burners) burner.kill('SIGKILL');
  }
}

/** @returns the exit code */
async function repeatTests(files: string[], { times, busy }: { times: number; busy: boolean }): Promise<number> {
  /** Failures by test, the first message of each. */
  const failures = new Map<string, { times: number; message: string }>();
  const seconds: number[] = [];
  for (let run = 1; run <= times; run += 1) {
    const startedAt = performance.now();
    for (const { file, name, message } of await failedTests(files)) {
      const test = `${file}: ${name}`;
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
  const slowest = Math.max(...seconds).toFixed(1);
  console.log(`${files.length} files, ${times} times${busy ? ', every core busy' : ''}; the slowest run: ${slowest} s`);
  for (const [test, { times: failed, message }] of failures) console.log(`\n${failed} times: ${test}\n${message}`);
  if (failures.size === 0) console.log('nothing failed');
  return failures.size === 0 ? 0 : 1;
}

/** @returns the exit code */
async function repeatAllSeeds(files: string[], { cases, seeds }: { cases: number; seeds: number[] }): Promise<number> {
  const failures: FailedProperty[] = [];
  for (const seed of seeds) {
    const startedAt = performance.now();
    const failed = await repeatProperties(files, { cases, seed });
    const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
    console.error(`[repeat] seed ${seed}: ${seconds} s, ${failed.length} failed`);
    for (const { file, name } of failed) console.error(`[repeat] failed: ${file}: ${name}`);
    failures.push(...failed);
  }
  for (const { file, name, message, command } of failures) console.log(`\n${file}: ${name}\n${message}\n${command}`);
  if (failures.length === 0) console.log('nothing failed');
  return failures.length === 0 ? 0 : 1;
}

/** The next seed of a series; seeds of fast-check are 32-bit integers. */
function newSeed(): number {
  return randomInt(2 ** 31);
}

/** Keeps one core at work until it is killed, or this process ends. */
function startBurner(): ChildProcess {
  const work =
    'process.stdin.on("end", () => process.exit()).resume(); (function burn() { for (const until = Date.now() + 50; Date.now() < until; ); setImmediate(burn); })();';
  return spawn(process.execPath, ['-e', work], { stdio: ['pipe', 'ignore', 'ignore'] });
}

process.exitCode = await main();
