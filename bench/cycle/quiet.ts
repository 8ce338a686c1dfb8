import { cleanCpuSecondsOf, cpuSecondsOf, type Figure, leastOf } from '../figure.ts';
import { requestsOf, type Sent } from '../sent.ts';
import { commandsOf } from './redis.ts';
import { type CycleWorld, openCycleWorld } from './world.ts';

const QUIET_GOAL = 0.5;
const TRICKLE_GOAL = 1.5;
const TRICKLE_SHARE = 0.001;
/** A daemon repeats a cycle for days; the first five to eight are slower, until V8 has compiled and optimised the code. */
const TIMES = 10;

/**
 * A cycle in which nothing has changed, and one in which one record in a thousand has, against fetching the same pages one after the other
 * and parsing them.
 */
export async function measureQuiet(
  size: { appointments: number; targets: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  say(`quiet: a clinic of ${size.appointments} appointments and ${size.targets} targets …`);
  await using world = await openCycleWorld(size);
  say('quiet: the first sync …');
  await world.sync();
  await world.pull();
  const requests = await requestsOf(() => world.pull());
  const commands = await commandsOf(() => world.pull());
  say(`quiet: ${requests.length} requests and ${commands} Redis commands a cycle; measuring …`);
  let [quiet, floor] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // Alternately: a host that becomes slower or faster changes both.
  for (let time = 0; time < TIMES; time += 1) {
    quiet = Math.min(quiet, await cleanCpuSecondsOf(() => world.pull()));
    floor = Math.min(floor, await cleanCpuSecondsOf(() => fetchAll(requests)));
  }
  const trickle = await leastOf(TIMES, () => trickleSecondsOf(world, size.appointments));
  const n = (await world.tenant.runs.list(1))[0]?.snapshot?.records ?? size.appointments;
  const against = (name: string, ours: number, goal: number): Figure => {
    const value = ours / floor;
    return { name, value, goal, met: value <= goal, floor, ours, unit: 'CPU s', n };
  };
  return [against('quiet', quiet, QUIET_GOAL), against('trickle', trickle, TRICKLE_GOAL)];
}

/** What a cycle costs in CPU seconds in which one appointment in a thousand is booked, moved or cancelled. */
export async function trickleSecondsOf({ clinic, pull, push }: CycleWorld, appointments: number): Promise<number> {
  const changes = Math.ceil((appointments * TRICKLE_SHARE) / 4);
  await clinic.simulate(clinic.tenants[0]?.id ?? '', { booked: changes, moved: 2 * changes, cancelled: changes });
  const seconds = await cpuSecondsOf(pull);
  await push();
  return seconds;
}

async function fetchAll(requests: readonly Sent[]): Promise<void> {
  for (const { url, headers } of requests) {
    const answer = await fetch(url, { headers });
    JSON.parse(await answer.text());
  }
}
