import type { RedisClient } from '../../src/state/redis.ts';

/**
 * A connection of a process that dies: the command after the given number is carried out or not, its answer never comes,
 * and neither does that of any later one, the release of leases included.
 */
export function crashingRedis(redis: RedisClient, commandsLeft: number, lastIsCarriedOut: boolean): RedisClient {
  let left = commandsLeft;
  const dying = new Error('the process died');
  const count = async (run: () => Promise<unknown>): Promise<unknown> => {
    left -= 1;
    if (left === -1 && lastIsCarriedOut) await run();
    if (left < 0) throw dying;
    return run();
  };
  return new Proxy(redis, {
    get(client, name) {
      const value: unknown = Reflect.get(client, name);
      if (typeof value !== 'function') return value;
      if (name === 'pipeline') {
        return () => {
          const pipeline = client.pipeline();
          const exec = pipeline.exec.bind(pipeline);
          return Object.assign(pipeline, { exec: () => count(() => exec()) });
        };
      }
      return (...given: unknown[]) => count(() => Reflect.apply(value, client, given) as Promise<unknown>);
    },
  });
}
