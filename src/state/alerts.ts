import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Why whoever is to be told can't be told. */
export interface AlertFailure {
  code: string;
  sinceAt: Instant;
}

/** What is kept of one way of telling, as text that `alerts/` understands, and why it failed last. */
export interface StoredAlerts {
  memory: string | null;
  failure: AlertFailure | null;
}

/** What the ways of telling remember, by their name. */
export interface AlertStore {
  read(): Promise<Map<string, StoredAlerts>>;
  write(channel: string, alerts: StoredAlerts): Promise<void>;
  /** Removes ways of telling that are not configured any more. */
  keepOnly(channels: readonly string[]): Promise<void>;
}

/** Opens what all processes of an installation remember of alerts. */
export function createAlertStore(redis: RedisClient): AlertStore {
  async function read(): Promise<Map<string, StoredAlerts>> {
    const all = Object.entries(await redis.hgetall(keys.alerts()));
    return new Map(all.map(([channel, stored]) => [channel, JSON.parse(stored) as StoredAlerts]));
  }
  return {
    read,
    async write(channel, alerts) {
      await redis.hset(keys.alerts(), channel, JSON.stringify(alerts));
    },
    async keepOnly(channels) {
      const gone = [...(await read()).keys()].filter((channel) => !channels.includes(channel));
      if (gone.length > 0) await redis.hdel(keys.alerts(), ...gone);
    },
  };
}
