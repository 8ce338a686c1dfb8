import { fileURLToPath } from 'node:url';
import { renderTable } from '../../src/cli/table.ts';
import { atMost, type Figure } from '../figure.ts';
import { startTwice } from '../start/start.ts';
import { toldBy } from '../told.ts';
import { workOfTenants } from './tenants.ts';

/** Of one tenant, in appointments, and of a daemon, in tenants. */
const SIZES = { appointments: [1_000, 10_000, 50_000, 100_000, 200_000], tenants: [10, 100, 1_000, 5_000] };
/** Maximum cost per unit at the largest size, relative to `FROM`: at smaller sizes, the fixed cost of a cycle dominates. */
const GOAL = 1.25;
const FROM = { appointments: 10_000, tenants: 100 };
const MAIN = fileURLToPath(new URL('./growth-main.ts', import.meta.url));

/** Costs of one tenant's cycles. */
export interface CycleCosts {
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

/** How large the largest tenant is, how many tenants there are at most, and at most how many of them are at work. */
export interface GrowthSize {
  large: number;
  tenants: number;
  working: number;
  seconds: number;
  minutes: number;
}

/** Costs by the size of one tenant, and by the number of tenants: those of a unit should stay flat. The tables go to `say`. */
export async function measureGrowth(size: GrowthSize, say: (text: string) => void): Promise<Figure[]> {
  return [...(await growthOfOne(size, say)), ...(await growthOfMany(size, say))];
}

async function growthOfOne({ large }: GrowthSize, say: (text: string) => void): Promise<Figure[]> {
  const all: [appointments: number, CycleCosts][] = [];
  for (const appointments of SIZES.appointments.filter((count) => count <= large)) {
    say(`growth: one tenant of ${appointments} appointments …`);
    all.push([appointments, await toldBy<CycleCosts>(MAIN, appointments)]);
  }
  const rows = all.map(([count, { quietSeconds, trickleSeconds, commands, stateBytes, peakMebibytes }]) => [
    String(count),
    ...[quietSeconds, trickleSeconds].map((seconds) => ((1e6 * seconds) / count).toFixed(1)),
    ...[String(commands), (commands / count).toFixed(4), (stateBytes / count).toFixed(0), peakMebibytes.toFixed(0)],
  ]);
  const headings = ['appointments', 'quiet µs each', 'trickle µs each', 'commands', 'each', 'bytes each', 'peak MiB'];
  say(table(headings, rows));
  const unit = (name: string, of: (costs: CycleCosts) => number) =>
    flat(`growth ${name}`, all, FROM.appointments, (costs, count) => of(costs) / count);
  return [
    ...unit('quiet', ({ quietSeconds }) => quietSeconds),
    ...unit('trickle', ({ trickleSeconds }) => trickleSeconds),
    ...unit('commands', ({ commands }) => commands),
    ...unit('bytes', ({ stateBytes }) => stateBytes),
  ];
}

async function growthOfMany(
  { tenants, working, seconds, minutes }: GrowthSize,
  say: (text: string) => void,
): Promise<Figure[]> {
  const rows: string[][] = [];
  const atWork: [tenants: number, number][] = [];
  for (const count of SIZES.tenants.filter((each) => each <= tenants)) {
    await using started = await startTwice(count, say);
    const work = count <= working ? await workOfTenants({ tenants: count, seconds, minutes }, say) : null;
    const cycles = work?.lags.length ?? 0;
    const each = work === null ? null : { cpuMs: (1_000 * work.cpuSeconds) / cycles, commands: work.commands / cycles };
    if (each !== null) atWork.push([count, each.cpuMs]);
    const { daemon } = started;
    rows.push([
      ...[String(count), daemon.seconds.toFixed(2), daemon.megabytes.toFixed(0)],
      ...[String(cycles), each?.cpuMs.toFixed(1) ?? '', each?.commands.toFixed(0) ?? ''],
      work?.megabytes.toFixed(0) ?? '',
    ]);
  }
  const headings = ['tenants', 'start s', 'idle MB', 'cycles', 'CPU ms each', 'commands each', 'at work MB'];
  say(table(headings, rows));
  return flat('growth tenants', atWork, FROM.tenants, (cpuMs) => cpuMs);
}

/** What a unit costs at the largest size against the one from which it should stay flat; nothing where one of both was not measured. */
function flat<Costs>(
  name: string,
  all: readonly (readonly [count: number, Costs])[],
  from: number,
  unitOf: (costs: Costs, count: number) => number,
): Figure[] {
  const [first, last] = [all.find(([count]) => count === from), all.at(-1)];
  if (first === undefined || last === undefined || last[0] <= from) return [];
  const [floor, ours] = [unitOf(first[1], first[0]), unitOf(last[1], last[0])];
  return [{ name, ...atMost(GOAL, ours / floor), floor, ours, unit: 'a unit', n: last[0] }];
}

function table(headings: readonly string[], rows: readonly string[][]): string {
  return renderTable(
    headings.map((heading) => ({ heading, right: true })),
    rows,
  );
}
