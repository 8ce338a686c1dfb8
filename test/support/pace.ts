import { availableParallelism, loadavg } from 'node:os';

/** Holds the pace of the run, for all processes of it. */
export const PACE_VARIABLE = 'CLINIC_MIRROR_TEST_PACE';

/** Processor time of {@link work} on the host for which the limits were chosen. */
const USUAL_MS = 30;
/** On a host slower than this factor, tests fail at their limits. */
const SLOWEST = 10;

/** Measurements of a host. */
interface Seen {
  /** Processor time of {@link work}. */
  usedMs: number;
  /** Processes that want to run, on average of the last minute. */
  load: number;
  cores: number;
}

/**
 * Returns a host's slowdown factor, from its speed and the number of processes per core.
 * @returns 1 to 10, in tenths
 */
export function paceOf({ usedMs, load, cores }: Seen): number {
  const pace = Math.max(1, usedMs / USUAL_MS) * Math.max(1, load / cores);
  return Math.round(Math.min(SLOWEST, pace) * 10) / 10;
}

/** Measures once for a run; a run within another one has that one's pace. */
export function measuredPace(env: NodeJS.ProcessEnv): number {
  const known = Number(env[PACE_VARIABLE]);
  if (known >= 1) return known;
  return paceOf({ usedMs: workMs(), load: loadavg()[0] ?? 0, cores: availableParallelism() });
}

/** Measures how much more processor time this host takes than a usual one at this moment, for limits of processor time. At least 1. */
export function slowdownNow(): number {
  // The first pass also compiles.
  workMs();
  return Math.max(1, Math.min(workMs(), workMs()) / USUAL_MS);
}

/** Processor time of {@link work}. */
function workMs(): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

/** As tests do: much that is made and soon gone. */
function work(): void {
  const rows = Array.from({ length: 5_000 }, (_, id) => ({ id: `${id * 7_919}`, at: id, name: `name ${id % 97}` }));
  for (let round = 0; round < 8; round += 1) {
    const again = JSON.parse(JSON.stringify(rows)) as typeof rows;
    again.sort((one, other) => (one.name < other.name ? -1 : 1));
  }
}

/** Converts a time limit for a usual, idle host into the limit for this run. Outside of a test run, the limit is unchanged. */
export function paced(ms: number, env: NodeJS.ProcessEnv = process.env): number {
  const pace = Number(env[PACE_VARIABLE]);
  return pace >= 1 ? Math.ceil(ms * pace) : ms;
}
