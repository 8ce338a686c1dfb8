import type { Logger } from '../log/logger.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import { createProofSealer } from './proof-seal.ts';
import type { RedisClient } from './redis.ts';
import { openSealed } from './sealing.ts';

/** Why whoever is to be told can't be told. */
export interface AlertFailure {
  code: string;
  /** What to do: constant words, and where a refused secret is kept. Absent where nothing is known. */
  remedy?: string | undefined;
  sinceAt: Instant;
}

/** What is kept of one way of telling, as text that `alerts/` understands, and why it failed last. */
export interface StoredAlerts {
  memory: string | null;
  failure: AlertFailure | null;
  /** When a record was last found that clinic-mirror did not write; null when that is more than a day ago. */
  forgedAt: Instant | null;
}

/** What the ways of telling remember, by their name. */
export interface AlertStore {
  /**
   * A forged record, or one older than this process saw, counts as absent: problems are told again. It is logged, and `forgedAt` says so.
   * So does one that nobody wrote for two hours, and nothing is said of it: no daemon may have run.
   */
  read(): Promise<Map<string, StoredAlerts>>;
  write(channel: string, alerts: StoredAlerts): Promise<void>;
  /** Removes ways of telling that are not configured any more. */
  keepOnly(channels: readonly string[]): Promise<void>;
}

/** What an alert store works with. */
export interface AlertStoreParts {
  redis: RedisClient;
  identityKey: Uint8Array;
  clock: Clock;
  log: Logger;
}

type Sealed = StoredAlerts & { version: number; writtenAt: Instant };

/**
 * It is written with each look, which is at least hourly (`alerts.checkEveryMinutes`), while a daemon runs. An older one may have been put back while none did: rather a problem is told a second time
 * than not. Our choice.
 */
const BELIEVED_MS = 2 * HOUR_MS;

const CONTEXT = 'alerts/';

/** Opens what all processes of an installation remember of alerts. Each record is sealed, and no older than the last that this process saw. */
export function createAlertStore({ redis, identityKey, clock, log }: AlertStoreParts): AlertStore {
  const sealer = createProofSealer(identityKey, '{alerts}');
  const seen = new Map<string, number>();

  function opened(channel: string, stored: string): StoredAlerts {
    const record = openSealed<Sealed>(sealer, stored, `${CONTEXT}${channel}`);
    const now = clock();
    if (record === null || record.version < (seen.get(channel) ?? 0)) {
      log.error({ code: 'record-forged', channel }, 'memory of alerts is not as clinic-mirror wrote it');
      return { memory: null, failure: null, forgedAt: now };
    }
    const { failure, forgedAt, version, writtenAt } = record;
    seen.set(channel, version);
    const memory = now - writtenAt < BELIEVED_MS ? record.memory : null;
    return { memory, failure, forgedAt: forgedAt !== null && now - forgedAt < DAY_MS ? forgedAt : null };
  }

  return {
    async read() {
      const all = Object.entries(await redis.hgetall(keys.alerts()));
      return new Map(all.map(([channel, stored]) => [channel, opened(channel, stored)]));
    },
    async write(channel, alerts) {
      const version = (seen.get(channel) ?? 0) + 1;
      const record: Sealed = { ...alerts, version, writtenAt: clock() };
      await redis.hset(keys.alerts(), channel, sealer.seal(JSON.stringify(record), `${CONTEXT}${channel}`));
      seen.set(channel, version);
    },
    async keepOnly(channels) {
      const gone = (await redis.hkeys(keys.alerts())).filter((channel) => !channels.includes(channel));
      if (gone.length > 0) await redis.hdel(keys.alerts(), ...gone);
    },
  };
}
