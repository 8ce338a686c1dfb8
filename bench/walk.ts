import { type Profiler, Session } from 'node:inspector/promises';
import type { HouseRow } from '../tools/house/measure.ts';
import { type CycleWorld, openCycleWorld } from './cycle/world.ts';
import { startVendor } from './vendors/vendor-process.ts';

const SOURCE = new URL('../src/', import.meta.url).href;
const BEFORE = 20;
const MORE = 9;
const VENDORS = ['google-calendar', 'outlook-calendar'] as const;

/** Counts of calls by function, as `<file>:<offset>`. */
type Calls = Map<string, number>;

/**
 * Returns the files of `src/` that one new appointment uses from the cycle to the write at Google and Microsoft, by V8's exact call counts
 * in a real run; clinic and vendor are sandboxes in separate processes. A file counts for each further appointment if one of its functions
 * has at least nine more calls with nine more appointments.
 */
export async function walkAppointment(say: (text: string) => void): Promise<HouseRow[]> {
  const rows: HouseRow[] = [];
  for (const vendor of VENDORS) {
    const one = await callsOf(vendor, 1, say);
    const more = await callsOf(vendor, 1 + MORE, say);
    const further = [...more].filter(([at, count]) => count >= (one.get(at) ?? 0) + MORE).map(([at]) => at);
    for (const file of filesOf(further)) say(`each further appointment at ${vendor}: ${file}`);
    say(`one appointment at ${vendor}, files by module: ${byModule(filesOf(one.keys()))}`);
    say(`functions: ${one.size}; of each further appointment ${further.length}`);
    rows.push(
      row(`files of a cycle with one new appointment, ${vendor}`, filesOf(one.keys()).length, 90),
      row(`files of each further appointment, ${vendor}`, filesOf(further).length, 25),
    );
  }
  return rows;
}

const row = (what: string, now: number, most: number): HouseRow => ({
  ...{ goal: 'H7', what },
  ...{ now: String(now), wanted: `≤ ${most}` },
});

const filesOf = (calls: Iterable<string>) => [...new Set([...calls].map((at) => at.replace(/:\d+$/, '')))].sort();

/** Returns the number of files of each module, the largest first: what a reader of one module opens. */
function byModule(files: readonly string[]): string {
  const modules = Object.entries(Object.groupBy(files, (file) => file.split('/')[0] ?? ''));
  const counts = modules.map(([name, its = []]) => ({ name, count: its.length }));
  return counts
    .sort((one, other) => other.count - one.count)
    .map(({ name, count }) => `${name} ${count}`)
    .join(', ');
}

/** Functions of `src/` that a cycle with so many new appointments and the writes after it call. */
async function callsOf(name: (typeof VENDORS)[number], count: number, say: (text: string) => void): Promise<Calls> {
  say(`walk: ${count} new appointments into ${name} …`);
  await using vendor = await startVendor(name);
  await using world = await openCycleWorld({ appointments: BEFORE, targets: 1 }, vendor.target);
  await world.sync();
  await world.pull();
  await world.push();
  const [tenant] = world.clinic.tenants;
  await world.clinic.simulate(tenant?.id ?? '', { booked: count, moved: 0, cancelled: 0 });
  return await countCalls(world);
}

async function countCalls({ pull, push }: CycleWorld): Promise<Calls> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  await pull();
  await push();
  const { result } = await session.post('Profiler.takePreciseCoverage');
  session.disconnect();
  return new Map(result.filter(({ url }) => url.startsWith(SOURCE)).flatMap(callsIn));
}

function callsIn({ url, functions }: Profiler.ScriptCoverage): [string, number][] {
  return functions.flatMap(({ functionName, ranges }): [string, number][] => {
    const { startOffset = 0, count = 0 } = ranges[0] ?? {};
    const isModule = functionName === '' && startOffset === 0;
    return isModule || count === 0 ? [] : [[`${url.slice(SOURCE.length)}:${startOffset}`, count]];
  });
}
