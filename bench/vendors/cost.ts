/** Cost of some work of this process, in CPU seconds and in seconds. */
export interface Cost {
  cpu: number;
  wall: number;
}

/** More than every measured cost. */
export const NOTHING: Cost = { cpu: Number.POSITIVE_INFINITY, wall: Number.POSITIVE_INFINITY };

/** Measures some work of this process. Imports nothing: other runtimes than Node run this file too. */
export async function costOf(work: () => Promise<unknown>): Promise<Cost> {
  const [before, startedAt] = [process.cpuUsage(), performance.now()];
  await work();
  const { user, system } = process.cpuUsage(before);
  return { cpu: (user + system) / 1e6, wall: (performance.now() - startedAt) / 1_000 };
}

/** The lesser values of two measurements: higher values include the work of other processes. */
export function lesser(one: Cost, other: Cost): Cost {
  return { cpu: Math.min(one.cpu, other.cpu), wall: Math.min(one.wall, other.wall) };
}
