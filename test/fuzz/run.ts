import { Worker } from 'node:worker_threads';
import type { Figures, Finding, Limits, Said, Task } from './thread.ts';

/** Default processor time until an input is a hang. */
const GIVEN_UP_MS = 10_000;
const LOOK_EVERY_MS = 250;
/** Loading the parser is not part of an input; on a slow host it takes a second or more. */
const LOADING_GIVEN_UP_MS = 60_000;
const LOADING = -1;
/**
 * Heap limit of a thread. Above the limit the thread ends and the process continues, except after a single large allocation.
 */
const THREAD_MIB = 512;

/** Result of one parser. */
export interface Outcome extends Figures {
  parser: string;
  findings: Finding[];
}

export interface Run extends Pick<Task, 'parser' | 'seed' | 'most' | 'forMs' | 'limits' | 'input' | 'placeFile'> {
  /** The first input; 0 when absent. */
  from?: number;
  /** Processor time after which an input is given up. */
  givenUpMs?: number;
  /** Receives each finding at once. */
  tell?: (finding: Finding) => void;
  /** Heap of the thread, with what it loads. */
  threadMib?: number;
  /** Where the thread is kept for the next run, so that parsers are loaded once; the caller ends it. A new thread for each run when absent. */
  kept?: KeptThread;
}

/** A thread that several runs use one after the other; null before the first run, and after an input that ended it. */
export interface KeptThread {
  worker: Worker | null;
}

/** Limits for every input of every parser. */
export const LIMITS: Required<Limits> = { milliseconds: 250, millisecondsPerMb: 60, bytes: 100e6 };
/** Reports no input for its time or memory, except a hang or an exhausted heap. */
export const UNLIMITED: Limits = { milliseconds: Infinity, bytes: Infinity };

/**
 * Gives a parser many inputs in a separate thread. An input that ends the thread is a finding; the next thread starts with the next input.
 */
export async function fuzz({ tell = () => {}, kept, ...run }: Run): Promise<Outcome> {
  let outcome = nothingYet(run.parser);
  const endsAt = performance.now() + run.forMs;
  const first = run.from ?? 0;
  for (let from = first; from < first + run.most; ) {
    const task = { ...run, from, most: first + run.most - from, forMs: endsAt - performance.now() };
    const part = await oneThread(task, { ...run, ...(kept && { kept }), tell });
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

/** Combines the results of two parts of a run. */
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
  /** Null if the thread did not end normally. */
  figures: Figures | null;
  /** The input that it ended with. */
  index: number;
}

async function oneThread(
  task: Omit<Task, 'place'>,
  { tell, givenUpMs = GIVEN_UP_MS, threadMib = THREAD_MIB, kept }: Run & Required<Pick<Run, 'tell'>>,
): Promise<Part> {
  const place = new SharedArrayBuffer(4);
  const at = new Int32Array(place);
  at[0] = LOADING;
  const index = () => Math.max(task.from, Atomics.load(at, 0));
  const worker = kept?.worker ?? startThread(threadMib);
  // Read in advance, because the thread no longer exists when the limit is reported.
  const roomMib = worker.resourceLimits?.maxOldGenerationSizeMb;
  const part: Part = { findings: [], figures: null, index: task.from };
  const keep = (finding: Finding) => {
    tell(finding);
    part.findings.push(finding);
  };
  const find = (kind: Finding['kind'], what: string) =>
    keep({ parser: task.parser, seed: task.seed, index: index(), kind, what });
  const ended = new Promise<void>((resolve) => {
    worker.on('message', (said: Said) => {
      if ('finding' in said) return keep(said.finding);
      part.figures = said.done;
      resolve();
    });
    worker.once('exit', () => resolve());
    worker.once('error', (error: Error & { code?: string }) =>
      error.code === 'ERR_WORKER_OUT_OF_MEMORY'
        ? find('memory', `more than ${roomMib} MiB`)
        : find('crash', String(error.stack)),
    );
  });
  worker.postMessage({ ...task, place } satisfies Task);
  const giveUp = (afterMs: number) => {
    find('hang', `no end after ${afterMs} ms of processor time`);
    void worker.terminate();
  };
  const looking = watch(worker, at, givenUpMs, giveUp);
  await ended;
  clearInterval(looking);
  part.index = index();
  for (const event of ['message', 'exit', 'error']) worker.removeAllListeners(event);
  const isLive = part.figures !== null;
  if (kept !== undefined) kept.worker = isLive ? worker : null;
  else if (isLive) await worker.terminate();
  return part;
}

function startThread(threadMib: number): Worker {
  return new Worker(new URL('./thread.ts', import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: threadMib },
  });
}

/** Uses processor time, because a thread may get none on a busy host. */
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
