import { setTimeout as pause } from 'node:timers/promises';
import { MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { openWorld, type World } from '../fair/world.ts';
import { atLeast, atMost, type Figure, shareOf } from '../figure.ts';
import type { Details } from '../result.ts';

const GOALS = { inTime: 1, lagSeconds: 5, megabytes: 300 };
/** What a tenant is made of: as many small clinics are. */
const SMALL = { appointments: 300, targets: 3 };
/** Something is booked in a tenant by chance each time, so that not every cycle is a quiet one. */
const BOOK_EVERY_MS = 1_000;
const SETTLED_FOR_MS = 5_000;
/** Points of the memory over time: about so many, for a picture. */
const POINTS = 120;

/** How large the measurement is, and how long it takes. */
export interface TenantsSize {
  tenants: number;
  /** Between two cycles of a tenant. */
  seconds: number;
  minutes: number;
}

/** What a daemon did and took while small clinics were read. */
export interface TenantsWork {
  /** Seconds by which each cycle began later than it should. */
  lags: number[];
  /** The most memory of the daemon. */
  megabytes: number;
  /** Processor time of the daemon. */
  cpuSeconds: number;
  /** Commands to Redis. */
  commands: number;
  /** Memory that Redis has more than before the first sync. */
  stateBytes: number;
  /** Memory of the daemon over the time of the measurement, in seconds and megabytes. */
  megabytesOverTime: [seconds: number, megabytes: number][];
}

/**
 * Small clinics read by one daemon on one core, after their first sync: the share of cycles that began when they should, how much later
 * than the cycle before and the interval the others did, and the most memory that the daemon has meanwhile.
 */
export async function measureTenants(
  size: TenantsSize,
  say: (text: string) => void,
  keep: (details: Details) => void,
): Promise<Figure[]> {
  const { lags, megabytes, cpuSeconds, megabytesOverTime } = await workOfTenants(size, say);
  keep({ megabytesOverTime });
  const n = lags.length;
  const inTime = lags.filter((lag) => lag <= GOALS.lagSeconds).length / n;
  say(`tenants: ${n} cycles, ${((1_000 * cpuSeconds) / n).toFixed(1)} ms of the daemon's processor each`);
  return [
    { name: 'tenants in time', ...atLeast(GOALS.inTime, inTime), floor: null, ours: inTime, unit: '', n },
    figure('tenants lag', shareOf(lags, 0.99), GOALS.lagSeconds, 's', n),
    figure('tenants memory', megabytes, GOALS.megabytes, 'MB', size.tenants),
  ];
}

/** Small clinics read by one daemon on one core, after their first sync. */
export async function workOfTenants(
  { tenants, seconds, minutes }: TenantsSize,
  say: (text: string) => void,
): Promise<TenantsWork> {
  say(`tenants: ${tenants} clinics are made and logged in …`);
  await using world = await openWorld({
    groups: [{ name: 'clinic', tenants, ...SMALL, sink: 'good' }],
    sinks: { good: { latencyMs: 0 } },
    settings: { schedule: { pullEverySeconds: seconds, auditEverySeconds: 604_800 } },
  });
  const bytesBefore = await world.redisBytes();
  await using daemon = await world.startDaemon({ cores: 1 });
  const names = world.tenantsOf('clinic');
  say('tenants: the first sync …');
  while ((await runsOf(world, names)).some(({ length }) => length === 0)) await pause(SETTLED_FOR_MS);
  for (let last = -1; written(world) !== last; await pause(SETTLED_FOR_MS)) last = written(world);
  say(`tenants: ${written(world)} appointments are written; ${minutes} minutes …`);
  const fromAt = Date.now();
  const [cpuBefore, commandsBefore] = [daemon.cpuSeconds(), await world.redisCommands()];
  const toAt = fromAt + minutes * MINUTE_MS;
  const megabytesOverTime: TenantsWork['megabytesOverTime'] = [];
  const pointEveryMs = Math.max(BOOK_EVERY_MS, (toAt - fromAt) / POINTS);
  let most = 0;
  while (Date.now() < toAt) {
    await world.book(names[Math.floor(Math.random() * names.length)] ?? '');
    await pause(BOOK_EVERY_MS);
    const megabytes = daemon.megabytes();
    most = Math.max(most, megabytes);
    if (Date.now() - fromAt >= megabytesOverTime.length * pointEveryMs) {
      megabytesOverTime.push([(Date.now() - fromAt) / SECOND_MS, megabytes]);
    }
  }
  const cpuSeconds = daemon.cpuSeconds() - cpuBefore;
  const commands = (await world.redisCommands()) - commandsBefore;
  const stateBytes = (await world.redisBytes()) - bytesBefore;
  const periodMs = seconds * SECOND_MS;
  const lags = (await runsOf(world, names)).flatMap((starts) => lagsOf(starts, { fromAt, toAt, periodMs }));
  return { lags, megabytes: most, cpuSeconds, commands, stateBytes, megabytesOverTime };
}

function figure(name: string, ours: number, goal: number, unit: string, n: number): Figure {
  return { name, ...atMost(goal, ours), floor: null, ours, unit, n };
}

function written({ sink }: World): number {
  return [...sink.writes.values()].reduce((sum, { operations }) => sum + operations, 0);
}

/** When the last cycles of each tenant began, oldest first. */
async function runsOf(world: World, names: readonly string[]): Promise<number[][]> {
  return await Promise.all(names.map((name) => world.cyclesOf(name)));
}

/**
 * Returns the delays in seconds of cycles due in the period: time since the previous start, minus the interval. A cycle that did not start
 * is delayed until the end of the period.
 */
function lagsOf(
  starts: readonly number[],
  { fromAt, toAt, periodMs }: { fromAt: number; toAt: number; periodMs: number },
): number[] {
  const seen = starts.filter((at) => at <= toAt);
  const lags = seen.flatMap((at, index) => {
    const before = seen[index - 1];
    // Cycles due earlier belong to the first sync.
    if (before === undefined || before + periodMs < fromAt) return [];
    return [Math.max(0, at - before - periodMs) / SECOND_MS];
  });
  const dueAt = (seen.at(-1) ?? fromAt) + periodMs;
  return dueAt < toAt - GOALS.lagSeconds * SECOND_MS ? [...lags, (toAt - dueAt) / SECOND_MS] : lags;
}
