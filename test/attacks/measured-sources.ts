/** Process of `sources-without-measure.test.ts`: reads hostile servers with a limited heap, and measures pauses and memory. */
import { MEBIBYTE } from '../../src/core/http/client.ts';
import { peakBytes } from '../support/peak-memory.ts';
import { RUNS } from './hostile-runs.ts';

/** An attack by name, and its server. */
export interface Asked {
  attack: string;
  url: string;
}

/** What the reading cost. */
export interface Measured {
  /** Kind of an error that is no refusal, or null. */
  fault: string | null;
  /** Longest processor time of the main thread without a break. */
  pauseMs: number;
  /** Most memory of the process so far, above the memory after the first reading. */
  grownMebibytes: number;
}

let startBytes: number | null = null;

function usedMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
}

async function measure({ attack, url }: Asked): Promise<Measured> {
  let [isRead, pauseMs, before] = [false, 0, usedMs()];
  const turn = () => {
    const now = usedMs();
    [pauseMs, before] = [Math.max(pauseMs, now - before), now];
    if (!isRead) setImmediate(turn);
  };
  setImmediate(turn);
  const fault = await RUNS[attack]!(url).then(
    () => null,
    (error: Error) => `${error.name} ${error.stack}`,
  );
  turn();
  isRead = true;
  // The first reading loads the code.
  startBytes ??= process.memoryUsage.rss();
  return { fault, pauseMs, grownMebibytes: (peakBytes() - startBytes) / MEBIBYTE };
}

process.on('message', async (asked: Asked) => process.send?.(await measure(asked)));
