import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Options, readOptions, USAGE } from './options.ts';
import { type Report, Reporter, renderReport } from './report.ts';
import { play, type RunResult } from './run/run.ts';
import { describeScript, type Script, scriptOf } from './script/generate.ts';
import { shrink } from './script/shrink.ts';
import { checkRewrites } from './without/mechanisms.ts';
import { focusedScript } from './without/scripts.ts';
import { openParks, type Park } from './world/park.ts';

const MINUTE_MS = 60_000;
/** Beyond so many failing scripts the rest is not made shorter: something is wrong everywhere. */
const MOST_SHRUNK = 3;

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  const options = understood();
  if (options === null) return process.exitCode === undefined ? 0 : 2;
  if (options.without !== null) await checkRewrites(options.without);
  const { parks, close } = await openParks(Math.min(options.worlds, options.runs), say);
  try {
    const report = await runAll(parks, options);
    process.stdout.write(`${options.json ? JSON.stringify(report) : renderReport(report)}\n`);
    const { without, examples } = report;
    const isAsItShould =
      without === null ? examples.length === 0 : without.detected === without.runs && without.control.defects === 0;
    return isAsItShould ? 0 : 1;
  } finally {
    await close();
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

/** A run with what is said of it: what is done side by side is told in order. */
interface Told {
  result: RunResult;
  /** With the safety in its place; null where none was taken out. */
  control: RunResult | null;
  shortest: Script | null;
  lines: string[];
}

async function runAll(parks: readonly Park[], options: Options): Promise<Report> {
  const reporter = new Reporter(options.without);
  const endsAt = options.minutes === null ? Infinity : performance.now() + options.minutes * MINUTE_MS;
  const done = new Map<number, Told>();
  let [begun, toldUpTo, failing] = [0, 0, 0];
  const tell = () => {
    for (let next = done.get(toldUpTo + 1); next !== undefined; next = done.get(toldUpTo + 1)) {
      toldUpTo += 1;
      done.delete(toldUpTo);
      say(next.lines.join('\n'));
      reporter.add(next.result, next.shortest);
      if (next.control !== null) reporter.addControl(next.control);
    }
  };
  const work = async (park: Park) => {
    while (begun < options.runs && performance.now() < endsAt) {
      begun += 1;
      const run = begun;
      const told = await runOne(park, options, run, () => {
        failing += 1;
        return failing <= MOST_SHRUNK;
      });
      done.set(run, told);
      tell();
    }
  };
  await Promise.all(parks.map(work));
  return reporter.report();
}

async function runOne(park: Park, options: Options, run: number, isShrunk: () => boolean): Promise<Told> {
  const { without } = options;
  const seed = options.seed + run - 1;
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
  const lines = [`${run}/${options.runs} ${describeResult(result)}`];
  const control = without === null || !options.control ? null : await playLogged(null, `seed-${seed}-control`);
  if (control !== null) lines.push(`  with ${without}: ${describeResult(control)}`);
  let shortest: Script | null = null;
  if (result.defects.length > 0 && without === null) {
    lines.push(describeScript(script));
    if (options.shrink && isShrunk()) shortest = await shorten(park, result, (line) => void lines.push(line));
  }
  return { result, control, shortest, lines };
}

/** Plays a failing script again with fewer steps. @returns null when it did not fail again */
async function shorten(park: Park, { script }: RunResult, say: (line: string) => void): Promise<Script | null> {
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

async function keepLog({ logs }: Options, name: string, log: string): Promise<void> {
  if (logs === null) return;
  await mkdir(logs, { recursive: true });
  await writeFile(join(logs, `${name}.log`), log);
}

function describeResult({ script, byFault, defects, unsettled, seconds }: RunResult): string {
  const faults = Object.values(byFault).reduce((sum, count) => sum + count, 0);
  const verdict = defects.length === 0 ? 'exact' : defects.map(({ kind, text }) => `${kind}: ${text}`).join('; ');
  const open = unsettled.length === 0 ? '' : `, never in sync: ${unsettled.join(', ')}`;
  return `seed ${script.seed}: ${faults} faults, ${seconds.toFixed(1)} s, ${verdict}${open}`;
}

process.exitCode = await main();
