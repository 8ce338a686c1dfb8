import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ALL, type Options, readOptions, USAGE } from './options.ts';
import { isProved, type Report, Reporter, renderReport, renderTrials } from './report.ts';
import { play, type RunResult } from './run/run.ts';
import { describeScript, type Script, scriptOf } from './script/generate.ts';
import { shrink } from './script/shrink.ts';
import { checkRewrites, MECHANISMS } from './without/mechanisms.ts';
import { focusedScript } from './without/scripts.ts';
import { openParks, type Park } from './world/world.ts';

const MINUTE_MS = 60_000;
/** After this many failing scripts the others are not shortened: the cause is general. */
const MOST_SHRUNK = 3;
const SHOWN_DEFECTS = 4;

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  const options = understood();
  if (options === null) return process.exitCode === undefined ? 0 : 2;
  const trials = options.without === ALL ? Object.keys(MECHANISMS) : [options.without];
  for (const without of trials) if (without !== null) await checkRewrites(without);
  const reporters: Reporter[] = [];
  const tell = () => {
    const reports = reporters.map((reporter) => reporter.report());
    process.stdout.write(`${described(options, reports)}\n`);
    return reports;
  };
  const { parks, close } = await openParks(Math.min(options.worlds, options.runs), say, options.redis);
  // An early end prints the results so far.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      tell();
      void close().finally(() => process.exit(1));
    });
  }
  try {
    for (const without of trials) {
      const reporter = new Reporter(without);
      reporters.push(reporter);
      await runAll(parks, { ...options, without }, reporter);
    }
    return tell().every(isAsItShould) ? 0 : 1;
  } finally {
    await close();
  }
}

function isAsItShould({ without, examples }: Report): boolean {
  return without === null ? examples.length === 0 : isProved(without);
}

function described({ json, without }: Options, reports: readonly Report[]): string {
  const trials = reports.flatMap((report) => report.without ?? []);
  if (without === ALL) return json ? JSON.stringify(trials) : renderTrials(trials);
  return reports.map((report) => (json ? JSON.stringify(report) : renderReport(report))).join('\n');
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

async function runAll(parks: readonly Park[], options: Options, reporter: Reporter): Promise<void> {
  const endsAt = options.minutes === null ? Infinity : performance.now() + options.minutes * MINUTE_MS;
  let [begun, failing] = [0, 0];
  const isShrunk = () => {
    failing += 1;
    return options.shrink && failing <= MOST_SHRUNK;
  };
  const work = async (park: Park) => {
    while (begun < options.runs && performance.now() < endsAt) {
      begun += 1;
      await runOne(park, options, { seed: options.seed + begun - 1, reporter, isShrunk });
    }
  };
  await Promise.all(parks.map(work));
}

interface Run {
  seed: number;
  reporter: Reporter;
  /** Asked for a script that failed. */
  isShrunk: () => boolean;
}

/** Prints the result at once: each line names its seed. */
async function runOne(park: Park, options: Options, { seed, reporter, isShrunk }: Run): Promise<void> {
  const { without } = options;
  const script = without === null ? scriptOf(seed, options.choice) : focusedScript(without, seed);
  const playLogged = async (safety: string | null, name: string) => {
    let log = '';
    const onLog = (text: string) => {
      log = text;
    };
    const result = await play(park, script, { without: safety, onLog });
    await keepLog(options, name, log);
    return result;
  };
  const result = await playLogged(without, `seed-${seed}`);
  say(`${without === null ? '' : `without ${without}: `}${describeResult(result)}`);
  if (without !== null) {
    reporter.add(result, null);
    if (!options.control) return;
    const control = await playLogged(null, `seed-${seed}-control`);
    say(`with ${without}: ${describeResult(control)}`);
    return reporter.addControl(control);
  }
  if (result.defects.length === 0) return reporter.add(result, null);
  say(describeScript(script));
  reporter.add(result, isShrunk() ? await shorten(park, result) : null);
}

/** Plays a failing script again with fewer steps. @returns null when it did not fail again */
async function shorten(park: Park, { script }: RunResult): Promise<Script | null> {
  const {
    script: shortest,
    tries,
    fails,
  } = await shrink(script, async (one) => {
    const { defects, seconds } = await play(park, one);
    say(`  seed ${one.seed}, ${one.steps.length} steps: ${defects.length} defects, ${seconds.toFixed(1)} s`);
    return defects.length > 0;
  });
  say(
    fails
      ? `  shortest after ${tries} tries:\n${describeScript(shortest)}`
      : `  seed ${script.seed} did not fail again in ${tries} tries`,
  );
  return fails ? shortest : null;
}

async function keepLog({ logs }: Options, name: string, log: string): Promise<void> {
  if (logs === null) return;
  await mkdir(logs, { recursive: true });
  await writeFile(join(logs, `${name}.log`), log);
}

function describeResult({ script, byFault, defects, unsettled, timePassed, seconds }: RunResult): string {
  const faults = Object.values(byFault).reduce((sum, count) => sum + count, 0);
  const some = defects.slice(0, SHOWN_DEFECTS).map(({ kind, text }) => `${kind}: ${text}`);
  const more = defects.length > SHOWN_DEFECTS ? [`and ${defects.length - SHOWN_DEFECTS} more`] : [];
  const verdict = defects.length === 0 ? 'exact' : [...some, ...more].join('; ');
  const open = unsettled.length === 0 ? '' : `, never in sync: ${unsettled.join(', ')}`;
  const late = timePassed.length === 0 ? '' : `, clocks set ahead ${timePassed.length} times`;
  return `seed ${script.seed}: ${faults} faults, ${seconds.toFixed(1)} s, ${verdict}${open}${late}`;
}

process.exitCode = await main();
