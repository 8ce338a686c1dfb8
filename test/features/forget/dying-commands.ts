import { expect } from 'vitest';
import type { TestRedis } from '../../support/redis.ts';
import { crashingRedis } from '../../tenant/crashing-redis.ts';
import { counts, forget, openForgetWorld, ring } from './forget-world.ts';

/**
 * Checks that a second command completes the erasure after a first one that dies while the daemon continues.
 * @param every an odd number: the first command dies after each such number of its about 200 requests to Redis, and every other time the
 *   last request is still executed
 * @returns how many commands died
 */
export async function tryDyingCommands(redis: TestRedis, every: number): Promise<number> {
  const connection = redis.connect();
  let died = 0;
  for (let commandsLeft = 5; commandsLeft < 400; commandsLeft += every) {
    await connection.flushall();
    const world = openForgetWorld(connection);
    await world.pass();
    await ring(world);
    const tenant = world.again({ redis: crashingRedis(connection, commandsLeft, commandsLeft % 2 === 0) });
    const first = await forget(world, tenant).catch(() => null);
    if (first === null) died += 1;
    const leases = await connection.keys('cm:{studio-rossi}:lease:*');
    if (leases.length > 0) await connection.del(...leases);
    await world.pass();
    const second = await forget(world);
    expect(counts(world), `after ${commandsLeft} commands`).toEqual([2, 1, 2, 1]);
    expect(second.targets.every(({ waiting, failed }) => waiting + failed === 0)).toBe(true);
    expect(await world.tracesInRedis(), `after ${commandsLeft} commands`).toEqual([]);
    if (first !== null) break;
  }
  return died;
}
