import { Redis } from 'ioredis';
import { keys } from '../../src/state/keys.ts';
import { keysLike } from '../../src/state/script.ts';
import { atMost, type Figure } from '../figure.ts';
import { openCycleWorld } from './world.ts';

const GOALS = { bytesALink: 80, commandsARecord: 0.02 };

/** Measures the memory of each link in Redis, and the Redis commands per record in a cycle without changes. */
export async function measureRedis(
  size: { appointments: number; targets: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  say(`redis: a clinic of ${size.appointments} appointments and ${size.targets} targets, its first sync …`);
  await using world = await openCycleWorld(size);
  await world.sync();
  await world.pull();
  const commands = await commandsOf(() => world.pull());
  const n = (await world.tenant.runs.list(1))[0]?.snapshot?.records ?? size.appointments;
  const connection = new Redis(world.redis.url);
  const { id } = world.tenant;
  let [bytes, links] = [0, 0];
  for await (const key of keysLike(connection, `${keys.linksMeta(id, '')}*`)) {
    bytes += (await connection.memory('USAGE', key, 'SAMPLES', 0)) ?? 0;
  }
  for (const target of world.tenant.targets.keys()) links += await world.tenant.links.count(target);
  connection.disconnect();
  const figure = (name: string, ours: number, each: number, goal: number, unit: string): Figure => {
    return { name, ...atMost(goal, ours / each), floor: null, ours, unit, n: each };
  };
  return [
    figure('redis bytes a link', bytes, links, GOALS.bytesALink, 'bytes'),
    figure('redis commands a record', commands, n, GOALS.commandsARecord, 'commands'),
  ];
}

/** Counts commands sent to Redis; a script is one command. */
export async function commandsOf(work: () => Promise<unknown>): Promise<number> {
  const { sendCommand } = Redis.prototype;
  let sent = 0;
  Redis.prototype.sendCommand = function (...command) {
    sent += 1;
    return sendCommand.apply(this, command);
  };
  try {
    await work();
  } finally {
    Redis.prototype.sendCommand = sendCommand;
  }
  return sent;
}
