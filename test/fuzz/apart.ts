import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fuzz, type KeptThread, nothingYet, type Outcome, type Run, together } from './run.ts';
import type { Finding } from './thread.ts';

const ENTRY = fileURLToPath(import.meta.url);

/**
 * Runs {@link fuzz} in a separate process. The heap limit of a thread ends only the thread if allocations are small. A single large
 * allocation, such as a growing array, ends the whole process. This is a finding, and the next process starts with the next input.
 */
export async function fuzzApart(run: Run): Promise<Outcome> {
  await using fuzzer = openFuzzer();
  return await fuzzer.fuzz(run);
}

/** A separate process that does several runs, one after the other, and loads the parsers once. */
export interface Fuzzer extends AsyncDisposable {
  /** Like {@link fuzzApart}. */
  fuzz(run: Run): Promise<Outcome>;
}

/** Opens a fuzzer whose process starts with its first run. The caller disposes of it. */
export function openFuzzer(): Fuzzer {
  let child: ChildProcess | null = null;

  async function end(): Promise<void> {
    if (child === null || !child.connected) return;
    const exited = once(child, 'exit');
    child.disconnect();
    child = null;
    await exited;
  }

  return {
    async fuzz(run) {
      const endsAt = performance.now() + run.forMs;
      const beyond = (run.from ?? 0) + run.most;
      let outcome = nothingYet(run.parser);
      for (let from = run.from ?? 0; from < beyond && performance.now() < endsAt; ) {
        child ??= fork(ENTRY, { serialization: 'advanced', stdio: 'ignore' });
        const part = await inProcess(child, { ...run, from, most: beyond - from, forMs: endsAt - performance.now() });
        if ('outcome' in part) return together(outcome, part.outcome);
        child = null;
        const inputs = part.finding.index + 1 - from;
        outcome = together(outcome, { ...nothingYet(run.parser), inputs, findings: [...part.before, part.finding] });
        from = part.finding.index + 1;
      }
      return outcome;
    },
    [Symbol.asyncDispose]: end,
  };
}

interface Ended {
  /** What it had found before the input that ended it. */
  before: Finding[];
  finding: Finding;
}

/** Returns the outcome of a process, or the input that ended the process. */
async function inProcess(child: ChildProcess, run: Run & { from: number }): Promise<{ outcome: Outcome } | Ended> {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-fuzzed-'));
  const placeFile = join(folder, 'place');
  try {
    const { promise, resolve } = Promise.withResolvers<
      { outcome: Outcome } | { signal: string | null; code: unknown }
    >();
    const onMessage = (outcome: Outcome) => resolve({ outcome });
    const onExit = (code: number | null, signal: string | null) => resolve({ code, signal });
    child.on('message', onMessage).on('exit', onExit);
    child.send({ ...run, placeFile });
    const end = await promise;
    child.off('message', onMessage).off('exit', onExit);
    if ('outcome' in end) return end;
    const what = `this input ended the whole process (${end.signal ?? `exit code ${end.code}`})`;
    // As Node ends for want of memory.
    const kind = end.signal === 'SIGABRT' ? 'memory' : 'crash';
    const finding: Finding = { parser: run.parser, seed: run.seed, index: placeIn(placeFile, run.from), kind, what };
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
  // The parent has the results, or has ended.
  process.once('disconnect', () => process.exit());
  const kept: KeptThread = { worker: null };
  process.on('message', async (run: Run) => {
    const tell = (finding: Finding) => appendFileSync(`${run.placeFile}${FINDINGS}`, `${JSON.stringify(finding)}\n`);
    process.send?.(await fuzz({ ...run, kept, tell }));
  });
}
