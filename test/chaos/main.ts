import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Options, readOptions, USAGE } from './options.ts';
import { type Report, Reporter, renderReport } from './report.ts';
import { play, type RunResult } from './run/run.ts';
import { describeScript, type Script, scriptOf } from './script/generate.ts';
import { shrink } from './script/shrink.ts';
import { checkRewrites } from './without/mechanisms.ts';
import { focusedScript } from './without/scripts.ts';
import { openPark, type Park } from './world/park.ts';

const MINUTE_MS = 60_000;
/** Beyond so many failing scripts the rest is not made shorter: something is wrong everywhere. */
const MOST_SHRUNK = 3;

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  const options = understood();
  if (options === null) return process.exitCode === undefined ? 0 : 2;
  if (options.without !== null) await checkRewrites(options.without);
  const park = await openPark(say);
  try {
    const report = await runAll(park, options);
    process.stdout.write(`${options.json ? JSON.stringify(report) : renderReport(report)}\n`);
    const failed = report.examples.length;
    if (options.without === null) return failed === 0 ? 0 : 1;
    say(`without ${options.without}: a defect in ${failed} of ${report.runs} runs`);
    return failed === report.runs ? 0 : 1;
  } finally {
    await park.close();
  }
}

function understood(): Options | null {
  try {
    const options = readOptions(process.argv.slice(2));
    if (options === null) process.stdout.write(`${USAGE}\n`);
    return options;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    process.stderr.write(`not understood: ${error.message}\n\n${USAGE}\n`);
    process.exitCode = 2;
    return null;
  }
}

async function runAll(park: Park, options: Options): Promise<Report> {
  const reporter = new Reporter();
  const startedAt = performance.now();
  const endsAt = options.minutes === null ? Infinity : startedAt + options.minutes * MINUTE_MS;
  const { without } = options;
  let failing = 0;
  for (let run = 1; run <= options.runs && performance.now() < endsAt; run += 1) {
    const seed = options.seed + run - 1;
    const script = without === null ? scriptOf(seed, options.choice) : focusedScript(without, seed);
    let log = '';
    const onLog = (text: string) => {
      log = text;
    };
    const result = await play(park, script, { without, onLog });
    say(`${run}/${options.runs} ${describeResult(result)}`);
    await keepLog(options, script, log);
    let shortest: Script | null = null;
    if (result.defects.length > 0) {
      failing += 1;
      if (without === null) say(describeScript(script));
      if (without === null && options.shrink && failing <= MOST_SHRUNK) shortest = await shorten(park, result);
    }
    reporter.add(result, shortest);
  }
  return reporter.report();
}

/** Plays a failing script again with fewer steps. @returns null when it did not fail again */
async function shorten(park: Park, { script }: RunResult): Promise<Script | null> {
  const {
    script: shortest,
    tries,
    fails,
  } = await shrink(script, async (one) => {
    const { defects, seconds } = await play(park, one);
    say(`  ${one.steps.length} steps: ${defects.length} defects, ${seconds.toFixed(1)} s`);
    return defects.length > 0;
  });
  say(
    fails ? `  shortest after ${tries} tries:\n${describeScript(shortest)}` : `  did not fail again in ${tries} tries`,
  );
  return fails ? shortest : null;
}

async function keepLog({ logs }: Options, { seed }: Script, log: string): Promise<void> {
  if (logs === null) return;
  await mkdir(logs, { recursive: true });
  await writeFile(join(logs, `seed-${seed}.log`), log);
}

function describeResult({ script, byFault, defects, unsettled, seconds }: RunResult): string {
  const faults = Object.values(byFault).reduce((sum, count) => sum + count, 0);
  const verdict = defects.length === 0 ? 'exact' : defects.map(({ kind, text }) => `${kind}: ${text}`).join('; ');
  const open = unsettled.length === 0 ? '' : `, never in sync: ${unsettled.join(', ')}`;
  return `seed ${script.seed}: ${faults} faults, ${seconds.toFixed(1)} s, ${verdict}${open}`;
}

process.exitCode = await main();
