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

Runs daemons against a clinic, calendars, CRMs, a gateway of text messages and a Redis of their own,
while things go wrong as a script says. A script follows from its seed alone: run n has the seed
--seed + n - 1. Then everything comes to rest, and both sides are read and compared by code that
shares nothing with src/.

  --runs n      how many scripts are played (10)
  --seed n      seed of the first (1)
  --minutes n   begins no further run after so many minutes
  --only a,b    draws from these alone, groups or single faults:
                ${fold([...GROUPS], 16)};
                ${fold([...FAULTS.keys()], 16)}
  --redis kind  one server (one), or several of which masters die: sentinel, cluster
  --without s   the daemons run without one safety, which is taken out from outside; scripts go for
                what it catches; all: each of them in turn, as a table:
                ${fold([...Object.keys(MECHANISMS), ALL], 16)}
  --worlds n    worlds side by side, each with its own servers (one more than cores, at most 4)
  --no-control  with --without: doesn't play the same scripts with the safety in its place
  --no-shrink   a script that fails is not played again with fewer steps
  --logs dir    keeps what the daemons logged, a file for each seed
  --json        figures as JSON

Figures go to standard output, progress to standard error; whoever ends it early gets the figures
so far. Exit code: 0 no defects, 1 defects or ended early, 2 not understood. With --without: 0 when
every run had a defect that the safety prevents, and none had one with the safety in its place.
A run that is not in sync after many cycles goes on with the clocks set ahead, as if hours passed;
the report tells which and why, since a needless delay may hide there.
The daemons run from the sources as they are on disk: don't edit them meanwhile.`;

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
