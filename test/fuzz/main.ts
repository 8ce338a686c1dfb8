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

Has everything that reads what others wrote read inputs that are nearly right: seeds, changed in one
to six places. An input follows from the seed and its number alone. A finding is an error that is
none of ours, more than ${LIMITS.bytes / 1e6} MB, or more than ${LIMITS.milliseconds} ms of processor time
(and ${LIMITS.millisecondsPerMb} ms for each MB of the input).

  --minutes n   for all of them together (10)
  --only a,b    these alone:
                ${[...PARSERS.keys()]
                  .join(' ')
                  .replaceAll(/(.{1,80})( |$)/g, '$1\n                ')
                  .trimEnd()}
  --seed n      of the inputs (drawn and told)
  --replay f    one input from a file, for the parser that --only names

Figures go to standard output. Inputs that are findings are kept in a folder, which is told.
Exit code: 0 nothing found, 1 findings, 2 not understood.`;

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
  if (values.replay !== undefined && names.length !== 1) throw new RangeError('--replay wants one parser by --only');
  return { minutes, names, seed, replay: values.replay ?? null };
}

async function main(): Promise<number> {
  let options: Options | null;
  try {
    options = readOptions(process.argv.slice(2));
  } catch (error) {
    process.stderr.write(`not understood: ${(error as Error).message}\n\n${USAGE}\n`);
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
