import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
/** One figure of a measurement. */
export interface Figure {
  name: string;
  /** The ratio or count that the goal is about. */
  value: number;
  goal: number;
  /** The goal is the minimum value; otherwise the maximum. */
  isLeast?: true;
  met: boolean;
  /** The cost of a minimal program with equal external effects, and clinic-mirror's, both in `unit`. */
  floor: number | null;
  ours: number;
  unit: string;
  /** How many things were worked on. */
  n: number;
}

/** What is held against a goal that is the most it should be. */
export function atMost(goal: number, value: number): Pick<Figure, 'value' | 'goal' | 'met'> {
  return { value, goal, met: value <= goal };
}

/** What is held against a goal that is the least it should be. */
export function atLeast(goal: number, value: number): Pick<Figure, 'value' | 'goal' | 'isLeast' | 'met'> {
  return { value, goal, isLeast: true, met: value >= goal };
}

/** Returns the CPU seconds of this process for one call, including its threads. */
export async function cpuSecondsOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** As {@link cpuSecondsOf}, without the garbage of earlier calls: a collection of it would count as this one's time. */
export function cleanCpuSecondsOf(work: () => Promise<unknown>): Promise<number> {
  collectGarbage();
  return cpuSecondsOf(work);
}

/** How long one call takes, in seconds. */
export async function secondsOf(work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1_000;
}

/** Returns the minimum of several measurements: higher values include the work of other processes. */
export async function leastOf(times: number, measure: () => Promise<number>): Promise<number> {
  let least = Number.POSITIVE_INFINITY;
  for (let time = 0; time < times; time += 1) least = Math.min(least, await measure());
  return least;
}

/** The value below which so great a share of all lies: 0.95 for p95. */
export function shareOf(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}
