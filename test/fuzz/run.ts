import { Worker } from 'node:worker_threads';
import type { Figures, Finding, Limits, Said, Task } from './thread.ts';

/** As a rule: nobody would wait for its end. */
const GIVEN_UP_MS = 10_000;
const LOOK_EVERY_MS = 250;
/** Loading what a thread reads with is no input; on a slow machine it takes a second or more. */
const LOADING_GIVEN_UP_MS = 60_000;
const LOADING = -1;
/** A thread that needs more ends, and the process goes on; unless it asked for too much in one piece (`apart.ts`). */
const THREAD_MIB = 512;

/** What one parser came to. */
export interface Outcome extends Figures {
  parser: string;
  findings: Finding[];
}

export interface Run extends Pick<Task, 'parser' | 'seed' | 'most' | 'forMs' | 'limits' | 'input' | 'placeFile'> {
  /** The first input; 0 when absent. */
  from?: number;
  /** Processor time after which an input is given up. */
  givenUpMs?: number;
  /** Told of each finding at once. */
  tell?: (finding: Finding) => void;
  /** Heap of the thread, with what it loads. */
  threadMib?: number;
}

/** What no input may take, whatever reads it. */
export const LIMITS: Required<Limits> = { milliseconds: 250, millisecondsPerMb: 60, bytes: 100e6 };
/** No input is a finding by its time or memory, unless it has no end or no room. */
export const UNLIMITED: Limits = { milliseconds: Infinity, bytes: Infinity };

/** Has a parser read many inputs in a thread of its own. One that ends the thread is a finding, and the next one begins after it. */
export async function fuzz({ tell = () => {}, ...run }: Run): Promise<Outcome> {
  let outcome = nothingYet(run.parser);
  const endsAt = performance.now() + run.forMs;
  const first = run.from ?? 0;
  for (let from = first; from < first + run.most; ) {
    const task = { ...run, from, most: first + run.most - from, forMs: endsAt - performance.now() };
    const part = await oneThread(task, { ...run, tell });
    const { findings } = part;
    if (part.figures !== null) return together(outcome, { parser: run.parser, ...part.figures, findings });
    outcome = together(outcome, { ...nothingYet(run.parser), inputs: part.index + 1 - from, findings });
    from = part.index + 1;
    if (performance.now() > endsAt) break;
  }
  return outcome;
}

/** Before the first input. */
export function nothingYet(parser: string): Outcome {
  return { parser, findings: [], inputs: 0, refused: 0, slowestMs: 0, mostBytes: 0 };
}

/** What two parts of a run came to. */
export function together(one: Outcome, other: Outcome): Outcome {
  return {
    parser: one.parser,
    findings: [...one.findings, ...other.findings],
    inputs: one.inputs + other.inputs,
    refused: one.refused + other.refused,
    slowestMs: Math.max(one.slowestMs, other.slowestMs),
    mostBytes: Math.max(one.mostBytes, other.mostBytes),
  };
}

interface Part {
  findings: Finding[];
  /** Null when the thread came to no end of its own. */
  figures: Figures | null;
  /** The input that it ended with. */
  index: number;
}

async function oneThread(
  task: Omit<Task, 'place'>,
  { tell, givenUpMs = GIVEN_UP_MS, threadMib = THREAD_MIB }: Run & Required<Pick<Run, 'tell'>>,
): Promise<Part> {
  const place = new SharedArrayBuffer(4);
  const at = new Int32Array(place);
  at[0] = LOADING;
  const index = () => Math.max(task.from, Atomics.load(at, 0));
  const worker = new Worker(new URL('./thread.ts', import.meta.url), {
    workerData: { ...task, place } satisfies Task,
    resourceLimits: { maxOldGenerationSizeMb: threadMib },
  });
  // As the thread has it: it is gone when there is something to tell.
  const roomMib = worker.resourceLimits?.maxOldGenerationSizeMb;
  const part: Part = { findings: [], figures: null, index: task.from };
  const keep = (finding: Finding) => {
    tell(finding);
    part.findings.push(finding);
  };
  const find = (kind: Finding['kind'], what: string) =>
    keep({ parser: task.parser, seed: task.seed, index: index(), kind, what });
  worker.on('message', (said: Said) => {
    if ('finding' in said) keep(said.finding);
    else part.figures = said.done;
  });
  const ended = new Promise<void>((resolve) => {
    worker.once('exit', () => resolve());
    worker.once('error', (error: Error & { code?: string }) =>
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? find('memory', `more than ${roomMib} MiB`)
        : find('crash', String(error.stack)),
    );
  });
  const giveUp = (afterMs: number) => {
    find('hang', `no end after ${afterMs} ms of processor time`);
    void worker.terminate();
  };
  const looking = watch(worker, at, givenUpMs, giveUp);
  await ended;
  clearInterval(looking);
  part.index = index();
  return part;
}

/** By processor time: on a busy machine a thread may stand still. */
function watch(worker: Worker, at: Int32Array, givenUpMs: number, giveUp: (afterMs: number) => void): NodeJS.Timeout {
  let [index, begunMs] = [LOADING, 0];
  return setInterval(() => {
    worker.cpuUsage().then(
      ({ user, system }) => {
        const usedMs = (user + system) / 1_000;
        const now = Atomics.load(at, 0);
        const mostMs = now === LOADING ? Math.max(givenUpMs, LOADING_GIVEN_UP_MS) : givenUpMs;
        if (now !== index) [index, begunMs] = [now, usedMs];
        else if (usedMs - begunMs > mostMs) {
          begunMs = Infinity;
          giveUp(mostMs);
        }
      },
      () => {},
    );
  }, LOOK_EVERY_MS);
}
