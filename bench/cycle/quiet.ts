import { cpuSecondsOf, type Figure, leastOf } from '../figure.ts';
import { type CycleWorld, openCycleWorld } from './world.ts';

const QUIET_GOAL = 0.8;
const COMMANDS_GOAL = 0.02;
const TIMES = 3;

/**
 * A cycle in which nothing has changed, against fetching the same pages one after the other and parsing them; and what it asks of
 * Redis.
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
  const commands = await commandsOf(world, () => world.pull());
  say(`quiet: ${requests.length} requests and ${commands} Redis commands a cycle; measuring …`);
  const ours = await leastOf(TIMES, () => cpuSecondsOf(() => world.pull()));
  const floor = await leastOf(TIMES, () => cpuSecondsOf(() => fetchAll(requests)));
  const records = (await world.tenant.runs.list(1))[0]?.snapshot?.records ?? size.appointments;
  const [ratio, each] = [ours / floor, commands / records];
  return [
    { name: 'quiet', value: ratio, goal: QUIET_GOAL, met: ratio <= QUIET_GOAL, floor, ours, unit: 'CPU s', n: records },
    {
      ...{ name: 'redis', value: each, goal: COMMANDS_GOAL, met: each <= COMMANDS_GOAL },
      ...{ floor: null, ours: commands, unit: 'commands', n: records },
    },
  ];
}

interface Sent {
  url: string;
  headers: Headers;
}

/** The requests that something makes. */
async function requestsOf(work: () => Promise<unknown>): Promise<Sent[]> {
  const { fetch } = globalThis;
  const sent: Sent[] = [];
  globalThis.fetch = (input, init) => {
    const request = new Request(input, init);
    sent.push({ url: request.url, headers: request.headers });
    return fetch(input, init);
  };
  try {
    await work();
  } finally {
    globalThis.fetch = fetch;
  }
  return sent;
}

async function fetchAll(requests: readonly Sent[]): Promise<void> {
  for (const { url, headers } of requests) {
    const answer = await fetch(url, { headers });
    JSON.parse(await answer.text());
  }
}

/** How many commands something asks of Redis, those within scripts not counted. */
async function commandsOf({ composition }: CycleWorld, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    const lines = (await composition.redis.info('commandstats')).matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm);
    const calls = new Map([...lines].map(([, name = '', calls]) => [name, Number(calls)]));
    return calls;
  };
  const before = await count();
  await work();
  const after = await count();
  let sum = 0;
  for (const [name, calls] of after) if (name !== 'info') sum += calls - (before.get(name) ?? 0);
  return sum;
}
