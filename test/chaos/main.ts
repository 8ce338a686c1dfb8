import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startRadicale } from '../../tools/radicale.ts';
import { resolveRedisServer } from '../../tools/redis.ts';
import { type Options, readOptions, USAGE } from './options.ts';
import { Reporter, renderReport } from './report.ts';
import { play, type RunResult } from './run/run.ts';
import { describeScript, type Script, scriptOf } from './script/generate.ts';
import { shrink } from './script/shrink.ts';
import { DAV_USERS, type Park } from './world/world.ts';

const MINUTE_MS = 60_000;
/** Beyond so many failing scripts the rest is not made shorter: something is wrong everywhere. */
const MOST_SHRUNK = 3;

const say = (text: string) => void process.stderr.write(`${text}\n`);

async function main(): Promise<number> {
  const options = understood();
  if (options === null) return process.exitCode === undefined ? 0 : 2;
  const started = await startRadicale({ users: DAV_USERS });
  if ('unavailable' in started) say(`No CalDAV server can be had, going on without: ${started.unavailable}`);
  const park: Park = {
    radicale: 'unavailable' in started ? null : started,
    redisServer: await resolveRedisServer(),
  };
  try {
    const report = await runAll(park, options);
    process.stdout.write(`${options.json ? JSON.stringify(report) : renderReport(report)}\n`);
    return report.examples.length === 0 ? 0 : 1;
  } finally {
    await park.radicale?.stop();
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

async function runAll(park: Park, options: Options) {
  const reporter = new Reporter();
  const startedAt = performance.now();
  const endsAt = options.minutes === null ? Infinity : startedAt + options.minutes * MINUTE_MS;
  let shrunk = 0;
  for (let run = 1; run <= options.runs && performance.now() < endsAt; run += 1) {
    const script = scriptOf(options.seed + run - 1, options.choice);
    let log = '';
    const result = await play(park, script, {
      onLog: (text) => {
        log = text;
      },
    });
    say(`${run}/${options.runs} ${describeResult(result)}`);
    let shortest: Script | null = null;
    if (result.defects.length > 0) {
      say(describeScript(script));
      await keepLog(options, script, log);
      if (options.shrink && shrunk < MOST_SHRUNK) shortest = await shorten(park, result);
      shrunk += 1;
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
