import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { GROUPS } from './faults/fault.ts';
import { FAULTS } from './faults/index.ts';
import { type Choice, choiceOf } from './script/generate.ts';
import { MECHANISMS } from './without/mechanisms.ts';
import { REDIS_KINDS, type RedisKind } from './world/world.ts';

/** Options of the command line. */
export interface Options {
  seed: number;
  runs: number;
  /** No run begins after this; null without a limit. */
  minutes: number | null;
  choice: Choice;
  redis: RedisKind;
  /** A safety that the daemons run without; null for none, {@link ALL} for each safety in turn. */
  without: string | null;
  /** Whether each of those scripts is played with the safety in its place as well. */
  control: boolean;
  /** Worlds side by side. */
  worlds: number;
  json: boolean;
  shrink: boolean;
  /** Where the daemons' logs go; null: nowhere. */
  logs: string | null;
}

/** Stands for every safety. */
export const ALL = 'all';

/** Shown by `--help`, and when something can't be understood. */
export const USAGE = `npm run chaos -- [--runs 10] [--seed 1] [--minutes 10] [--only kills,redis] [--json]

Runs daemons against a simulated clinic, calendars, CRMs, SMS gateway and a separate Redis, while a
script injects faults. The seed determines the script: run n has the seed --seed + n - 1. After the
script, the runner waits until all is in sync. Code that shares nothing with src/ then reads and
compares both sides.

  --runs n      number of scripts to run (10)
  --seed n      seed of the first script (1)
  --minutes n   starts no further run after n minutes
  --only a,b    injects only these groups or single faults:
                ${fold([...GROUPS], 16)};
                ${fold([...FAULTS.keys()], 16)}
  --redis kind  one server (one), or several with failovers: sentinel, cluster
  --without s   runs the daemons without one safety; the scripts test the defects that this safety
                prevents; "all" tests each safety and prints a table:
                ${fold([...Object.keys(MECHANISMS), ALL], 16)}
  --worlds n    parallel worlds, each with its own servers (one more than cores, at most 4)
  --no-control  with --without: skips the control runs with the safety
  --no-shrink   does not repeat a failed script with fewer steps
  --logs dir    writes the logs of the daemons, one file per seed
  --json        results as JSON

Results go to standard output, progress to standard error. Ctrl+C prints the results so far.
Exit code: 0 no defects, 1 defects or interrupted, 2 invalid options. With --without: 0 if every run
had a defect that the safety prevents, and no control run had a defect.
If a run is not in sync after many cycles, the runner sets the clocks ahead by hours and continues;
the report lists these runs and the reasons, because they can reveal a needless delay.
The daemons run from the source files on disk: do not edit these files during a run.`;

const MOST_RUNS = 100_000;
const MOST_WORLDS = 16;
const USUAL_WORLDS = 4;

/** Much of a run is waiting: one more than there are cores keeps them busy. */
function usualWorlds(): number {
  return Math.min(availableParallelism() + 1, USUAL_WORLDS);
}

/** @returns null if help was requested. @throws RangeError for an unknown option or value, with that word */
export function readOptions(args: readonly string[]): Options | null {
  const { values } = parse(args);
  if (values.help) return null;
  const redis = REDIS_KINDS.find((kind) => kind === values.redis);
  if (redis === undefined) throw new RangeError(`--redis ${values.redis}`);
  if (redis !== 'one' && values.without !== undefined) throw new RangeError('--without is played with --redis one');
  return {
    seed: whole(values.seed, '--seed', Number.MAX_SAFE_INTEGER),
    runs: whole(values.runs, '--runs', MOST_RUNS),
    minutes: values.minutes === undefined ? null : whole(values.minutes, '--minutes', MOST_RUNS),
    without: safety(values.without),
    control: values.control,
    choice: choiceOf(values.only === undefined ? [] : values.only.split(','), redis),
    redis,
    worlds: values.worlds === undefined ? usualWorlds() : whole(values.worlds, '--worlds', MOST_WORLDS),
    json: values.json,
    shrink: values.shrink,
    logs: values.logs ?? null,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowNegative: true,
      options: {
        runs: { type: 'string', default: '10' },
        seed: { type: 'string', default: '1' },
        minutes: { type: 'string' },
        only: { type: 'string' },
        redis: { type: 'string', default: 'one' },
        without: { type: 'string' },
        logs: { type: 'string' },
        worlds: { type: 'string' },
        shrink: { type: 'boolean', default: true },
        control: { type: 'boolean', default: true },
        json: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    });
  } catch (error) {
    throw new RangeError(error instanceof Error ? error.message : String(error));
  }
}

function safety(name: string | undefined): string | null {
  if (name !== undefined && name !== ALL && !Object.hasOwn(MECHANISMS, name)) throw new RangeError(`--without ${name}`);
  return name ?? null;
}

function whole(text: string, name: string, most: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > most) throw new RangeError(`${name} ${text}`);
  return value;
}

/** Words in lines that fit under each other. */
function fold(words: readonly string[], indent: number): string {
  const lines: string[] = [];
  for (const word of words) {
    const last = lines.at(-1);
    if (last === undefined || indent + last.length + word.length + 2 > 98) lines.push(word);
    else lines[lines.length - 1] = `${last}, ${word}`;
  }
  return lines.join(`,\n${' '.repeat(indent)}`);
}
