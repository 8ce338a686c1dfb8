import type { ReminderChannel } from '../../src/features/reminders/channels/channel.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { Death } from './orders.ts';

/** Planned kill point of a process. */
export interface Doom {
  death: Death | null;
}

/** Ends this process at once by SIGKILL: no further code runs. */
function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL');
  return new Promise(() => {});
}

/** A connection that counts commands for the doom. */
export function doomedRedis(redis: RedisClient, doom: Doom): RedisClient {
  const count = async (run: () => Promise<unknown>): Promise<unknown> => {
    const { death } = doom;
    if (death?.during !== 'redis') return run();
    death.commands -= 1;
    if (death.commands > 0) return run();
    if (death.isCarriedOut) await run();
    return die();
  };
  return new Proxy(redis, {
    get(client, name) {
      const value: unknown = Reflect.get(client, name);
      if (typeof value !== 'function') return value;
      if (name !== 'pipeline') {
        return (...given: unknown[]) => count(() => Reflect.apply(value, client, given) as Promise<unknown>);
      }
      return () => {
        const pipeline = client.pipeline();
        const exec = pipeline.exec.bind(pipeline);
        return Object.assign(pipeline, { exec: () => count(() => exec()) });
      };
    },
  });
}

/** A channel whose process is killed before the delivery, or before the outcome is recorded. */
export function doomedChannel(channel: ReminderChannel, doom: Doom): ReminderChannel {
  return {
    ...channel,
    async send(reminder, signal) {
      const isHandedOver = doom.death?.during === 'send' ? doom.death.isHandedOver : null;
      if (isHandedOver === false) await die();
      const delivery = await channel.send(reminder, signal);
      if (isHandedOver === true) await die();
      return delivery;
    },
  };
}
