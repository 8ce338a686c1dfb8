import { fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fuzz, nothingYet, type Outcome, type Run, together } from './run.ts';
import type { Finding } from './thread.ts';

const ENTRY = fileURLToPath(import.meta.url);

/**
 * Runs {@link fuzz} in a separate process. The heap limit of a thread ends only the thread if allocations are small. A single large
 * allocation, such as a growing array, ends the whole process. This is a finding, and the next process starts with the next input.
 */
export async function fuzzApart(run: Run): Promise<Outcome> {
  const endsAt = performance.now() + run.forMs;
  const beyond = (run.from ?? 0) + run.most;
  let outcome = nothingYet(run.parser);
  for (let from = run.from ?? 0; from < beyond && performance.now() < endsAt; ) {
    const part = await oneProcess({ ...run, from, most: beyond - from, forMs: endsAt - performance.now() }, from);
    if ('outcome' in part) return together(outcome, part.outcome);
    const inputs = part.finding.index + 1 - from;
    outcome = together(outcome, { ...nothingYet(run.parser), inputs, findings: [...part.before, part.finding] });
    from = part.finding.index + 1;
  }
  return outcome;
}

interface Ended {
  /** What it had found before the input that ended it. */
  before: Finding[];
  finding: Finding;
}

/** Returns the outcome of a process, or the input that ended the process. */
async function oneProcess(run: Run, from: number): Promise<{ outcome: Outcome } | Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-fuzzed-'));
  const placeFile = join(folder, 'place');
  try {
    const child = fork(ENTRY, { serialization: 'advanced', stdio: 'ignore' });
    let outcome: Outcome | null = null;
    child.once('message', (told: Outcome) => {
      outcome = told;
      // Now it ends: not before, since what it told could come after its end.
      child.disconnect();
    });
    child.send({ ...run, placeFile });
    const [code, signal]: unknown[] = await once(child, 'exit');
    if (outcome !== null) return { outcome };
    const what = `this input ended the whole process (${signal ?? `exit code ${code}`})`;
    // As Node ends for want of memory.
    const kind = signal === 'SIGABRT' ? 'memory' : 'crash';
    const finding: Finding = { parser: run.parser, seed: run.seed, index: placeIn(placeFile, from), kind, what };
    return { before: findingsIn(`${placeFile}${FINDINGS}`), finding };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** One line per finding, written at once, so that findings survive the end of the process. */
const FINDINGS = '.findings';

function findingsIn(file: string): Finding[] {
  try {
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Finding);
  } catch {
    return [];
  }
}

/** The input that a process was at when it ended. */
function placeIn(file: string, from: number): number {
  try {
    return Number(readFileSync(file, 'utf8')) || from;
  } catch {
    return from;
  }
}

// Runs only in the separate process: an importing module has another entry.
if (process.argv[1] === ENTRY && process.send !== undefined) {
  // The parent has the result, or has ended.
  process.once('disconnect', () => process.exit());
  process.once('message', async (run: Run) => {
    const tell = (finding: Finding) => appendFileSync(`${run.placeFile}${FINDINGS}`, `${JSON.stringify(finding)}\n`);
    process.send?.(await fuzz({ ...run, tell }));
  });
}
