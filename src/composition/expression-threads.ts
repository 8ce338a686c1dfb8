import { Worker } from 'node:worker_threads';
import { Apart } from '../http/apart.ts';
import type { OutlineApart, PlainOutline } from '../settings/crm-expressions.ts';
import type { ExpressionThread, ThreadAnswer } from '../sync/mapping/expressions.ts';

/** Memory of a thread in MiB: a hundred times the need of 500 records and their results. */
const MEMORY_MIB = 64;

type Heard = ThreadAnswer | 'ended';

/**
 * Starts a thread for expressions without the environment, arguments and streams of this process, and with little memory. Node runs its
 * TypeScript file directly by type stripping.
 */
export function startExpressionThread(): ExpressionThread {
  const worker = new Worker(new URL('./expression-thread-entry.ts', import.meta.url), {
    env: {},
    argv: [],
    execArgv: [],
    stdin: false,
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MIB, maxYoungGenerationSizeMb: 16 },
  });
  const heard: Heard[] = [];
  let wake = () => {};
  const hear = (answer: Heard) => {
    heard.push(answer);
    wake();
  };
  let isEnded = false;
  const end = () => {
    if (!isEnded) hear('ended');
    isEnded = true;
  };
  worker.on('message', hear);
  // Out of memory, or a file that cannot be loaded: the exit follows.
  worker.on('error', end);
  worker.on('exit', end);
  return {
    ask: (request) => worker.postMessage(request),
    async next(withinMs) {
      if (heard.length === 0 && !isEnded) await new Promise<void>((resolve) => waitForOne(resolve, withinMs));
      return heard.shift() ?? (isEnded ? 'ended' : 'silent');
    },
    async processorMs() {
      if (isEnded) return null;
      try {
        const { user, system } = await worker.cpuUsage();
        return (user + system) / 1_000;
      } catch {
        // The thread ended meanwhile.
        return null;
      }
    },
    async end() {
      await worker.terminate();
    },
  };

  function waitForOne(resolve: () => void, withinMs: number): void {
    const timer = setTimeout(resolve, withinMs);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  }
}

/** 20 times the duration of the longest expression. */
const LIMITS = { processorMs: 1_000, elapsedMs: 30_000, mebibytes: 64 };

const threads = new Apart(new URL('./expression-outline-entry.ts', import.meta.url), LIMITS);

/** Outlines expressions in a thread with time and memory limits. */
export const outlineApart: OutlineApart = async (expressions) => {
  const outlines: (PlainOutline | null)[] = [];
  for (const expression of expressions) {
    const [outline] = await Array.fromAsync(threads.ask(expression, 'expressions')).catch(() => []);
    outlines.push((outline ?? null) as PlainOutline | null);
  }
  return outlines;
};
