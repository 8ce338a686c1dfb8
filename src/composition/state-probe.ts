import type { StateProbe } from '../control/doctor.ts';
import type { Composition } from './compose.ts';

/** What `doctor` asks of Redis. @param check as `checkRedis`, with the patience of a person */
export function stateProbe({ redis, epoch }: Composition, check: StateProbe['check']): StateProbe {
  return {
    check,
    requireIdentity: () => epoch.requireIdentity(),
    async time() {
      const [seconds, microseconds] = (await redis.time()) as [number | string, number | string];
      return Number(seconds) * 1_000 + Math.floor(Number(microseconds) / 1_000);
    },
    view: () => epoch.view(),
  };
}
