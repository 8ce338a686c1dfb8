import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fuzzApart } from './apart.ts';
import { inputOf } from './mutations.ts';
import { PARSERS } from './parsers/index.ts';
import { renderOutcomes } from './report.ts';
import { LIMITS, type Outcome } from './run.ts';
import type { Finding } from './thread.ts';

const MINUTE_MS = 60_000;
const USAGE = `npm run fuzz -- [--minutes 10] [--only xml,json] [--seed 1] [--replay FILE]

Gives each parser of external data inputs that are almost valid: seeds with changes at one
to six positions. The seed and a number determine each input. A finding is an error that is
not a MirrorError, more than ${LIMITS.bytes / 1e6} MB, or more than ${LIMITS.milliseconds} ms of processor time
(and ${LIMITS.millisecondsPerMb} ms for each MB of the input).

  --minutes n   total time for all parsers (10)
  --only a,b    only these parsers:
                ${[...PARSERS.keys()]
                  .join(' ')
                  .replaceAll(/(.{1,80})( |$)/g, '$1\n                ')
                  .trimEnd()}
  --seed n      seed of the inputs (random, and reported)
  --replay f    reads one input from a file with the parser of --only

The program writes figures to standard output, keeps the inputs of findings in a folder, and prints its path.
Exit code: 0 nothing found, 1 findings, 2 invalid arguments.`;

interface Options {
  minutes: number;
  names: string[];
  seed: number;
  replay: string | null;
}

/** @throws RangeError for invalid arguments */
function readOptions(args: readonly string[]): Options | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '10' },
      only: { type: 'string' },
      seed: { type: 'string' },
      replay: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return null;
  const names = values.only?.split(',') ?? [...PARSERS.keys()];
  const unknown = names.filter((name) => !PARSERS.has(name));
  if (unknown.length > 0) throw new RangeError(`there is no parser ${unknown.join(', ')}`);
  const minutes = Number(values.minutes);
  const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed);
  if (!(minutes > 0) || !Number.isSafeInteger(seed)) throw new RangeError('--minutes and --seed are numbers');
  if (values.replay !== undefined && names.length !== 1) throw new RangeError('--replay requires one parser in --only');
  return { minutes, names, seed, replay: values.replay ?? null };
}

async function main(): Promise<number> {
  let options: Options | null;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`invalid arguments: ${(error as Error).message}\n\n${USAGE}\n`);
    return 2;
  }
  if (options === null) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const { seed, names, minutes, replay } = options;
  const input = replay === null ? {} : { input: readFileSync(replay) };
  const forMs = (minutes * MINUTE_MS) / names.length;
  process.stderr.write(`seed ${seed}\n`);
  const outcomes: Outcome[] = [];
  for (const parser of names) {
    const most = replay === null ? Number.MAX_SAFE_INTEGER : 1;
    const outcome = await fuzzApart({ parser, seed, most, forMs, limits: LIMITS, ...input });
    outcomes.push(outcome);
    for (const finding of outcome.findings) keep(finding);
  }
  process.stdout.write(`${renderOutcomes(outcomes)}\n`);
  return outcomes.some(({ findings }) => findings.length > 0) ? 1 : 0;
}

/** Writes the input of a finding down and says where. */
function keep({ parser: name, seed, index, kind, what }: Finding): void {
  const folder = join(tmpdir(), 'clinic-mirror-fuzz');
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}-${seed}-${index}`);
  const parser = PARSERS.get(name);
  if (parser !== undefined) writeFileSync(file, inputOf(parser, seed, index));
  const [first] = what.split('\n', 3);
  process.stderr.write(`${name}: ${kind}: ${what.split('\n').slice(0, 4).join('\n  ') || first}\n  ${file}\n`);
}

process.exitCode = await main();
