import { fileURLToPath } from 'node:url';
import { renderTable } from '../../src/operator/cli/table.ts';
import { AGENDA_HOLDS } from '../cycle/world.ts';
import { atMost, type Figure } from '../figure.ts';
import type { Details, Row } from '../result.ts';
import { startTwice } from '../start/start.ts';
import { toldBy } from '../told.ts';
import { FROM, GOAL, SIZES } from './growth-sizes.ts';
import { workOfTenants } from './tenants.ts';

const MAIN = fileURLToPath(new URL('./growth-main.ts', import.meta.url));

/** Costs of one tenant's cycles. */
export interface CycleCosts {
  /** Time of the first sync into empty targets. */
  firstSeconds: number;
  /** Time of a cycle in which nothing changed. */
  quietWallSeconds: number;
  /** Processor time of a cycle in which nothing changed, and of one in which one appointment in a thousand did. */
  quietSeconds: number;
  trickleSeconds: number;
  /** Commands to Redis in a quiet cycle. */
  commands: number;
  /** Memory that Redis has more than before the first sync. */
  stateBytes: number;
  /** The most memory of the process. */
  peakMebibytes: number;
}

/** Reports progress, and stores the numbers of all sizes. */
interface Told {
  say(text: string): void;
  keep(details: Details): void;
}

/** Costs by the number of appointments of one tenant, up to so many; one target for each 1,000. The tables go to `say`. */
export async function measureAppointments(
  { large }: { large: number },
  say: Told['say'],
  keep: Told['keep'],
): Promise<Figure[]> {
  const sizes = SIZES.appointments.filter((count) => count <= large);
  const costsOf = (count: number) => {
    const targets = Math.ceil(count / AGENDA_HOLDS);
    return toldBy<CycleCosts>(MAIN, count, targets, targets);
  };
  return await growthOfOne('appointments', { sizes, costsOf, say, keep });
}

/** Costs by the number of targets of one tenant, all with the same appointments in the same agendas. The tables go to `say`. */
export async function measureTargets(
  { records }: { records: number },
  say: Told['say'],
  keep: Told['keep'],
): Promise<Figure[]> {
  const agendas = Math.max(...SIZES.targets, Math.ceil(records / AGENDA_HOLDS));
  const costsOf = (count: number) => toldBy<CycleCosts>(MAIN, records, count, agendas);
  return await growthOfOne('targets', { sizes: SIZES.targets, costsOf, say, keep });
}

async function growthOfOne(
  unit: 'appointments' | 'targets',
  { sizes, costsOf, say, keep }: Told & { sizes: readonly number[]; costsOf(count: number): Promise<CycleCosts> },
): Promise<Figure[]> {
  const rows: Row[] = [];
  for (const size of sizes) {
    say(`growth: one tenant of ${size} ${unit} …`);
    rows.push({ size, ...(await costsOf(size)) });
    keep({ rows });
  }
  say(table(rows));
  return ['quietSeconds', 'trickleSeconds', 'commands', 'stateBytes'].flatMap((name) => flat(unit, rows, name));
}

/** How many tenants there are at most, at most how many of them are at work, and how often and how long they are read. */
interface TenantsGrowth {
  tenants: number;
  working: number;
  seconds: number;
  minutes: number;
}

/** Costs by the number of tenants of one daemon. The tables go to `say`. */
export async function measureTenantsGrowth(
  { tenants, working, seconds, minutes }: TenantsGrowth,
  say: Told['say'],
  keep: Told['keep'],
): Promise<Figure[]> {
  const rows: Row[] = [];
  for (const count of SIZES.tenants.filter((each) => each <= tenants)) {
    const work = count <= working ? await workRow({ tenants: count, seconds, minutes }, say) : {};
    rows.push({ size: count, ...(await startRow(count, say)), ...work });
    keep({ rows });
  }
  say(table(rows));
  return ['cpuSecondsPerMinute', 'commandsPerSecond', 'stateBytes'].flatMap((name) => flat('tenants', rows, name));
}

async function startRow(tenants: number, say: Told['say']): Promise<Row> {
  await using started = await startTwice(tenants, say);
  const { seconds, checkedSeconds, megabytes } = started.daemon;
  return { portsSeconds: seconds, checkedSeconds, idleMegabytes: megabytes };
}

async function workRow(size: { tenants: number; seconds: number; minutes: number }, say: Told['say']): Promise<Row> {
  const { lags, cpuSeconds, commands, megabytes, stateBytes } = await workOfTenants(size, say);
  const cycles = lags.length;
  return {
    cycles,
    cpuSecondsPerMinute: cpuSeconds / size.minutes,
    cpuMsPerCycle: (1_000 * cpuSeconds) / cycles,
    commandsPerSecond: commands / (60 * size.minutes),
    commandsPerCycle: commands / cycles,
    workMegabytes: megabytes,
    stateBytes,
  };
}

/** What a unit costs at the largest size against the one from which it should stay flat; nothing where one of both was not measured. */
function flat(unit: keyof typeof SIZES, rows: readonly Row[], name: string): Figure[] {
  const measured = rows.filter((row) => row[name] !== undefined);
  const [first, last] = [measured.find(({ size }) => size === FROM[unit]), measured.at(-1)];
  const [from, n] = [first?.size ?? 0, last?.size ?? 0];
  if (first === undefined || last === undefined || n <= from) return [];
  const [floor, ours] = [(first[name] ?? 0) / from, (last[name] ?? 0) / n];
  return [{ name: `growth ${unit} ${name}`, ...atMost(GOAL, ours / floor), floor, ours, unit: 'a unit', n }];
}

function table(rows: readonly Row[]): string {
  const headings = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return renderTable(
    headings.map((heading) => ({ heading, right: true })),
    rows.map((row) => headings.map((heading) => row[heading]?.toPrecision(4) ?? '')),
  );
}
