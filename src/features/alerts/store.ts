import { type Clock, HOUR_MS, type Instant } from '../../core/model/time.ts';
import { reportDamaged } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { createProofSealer, sealedTable } from '../../state/sealing.ts';
import { alertKeys } from './keys.ts';

/** Reason why alerts cannot be delivered. */
export interface AlertFailure {
  code: string;
  /** Constant remedy, including the location of a refused secret. Absent if unknown. */
  remedy?: string | undefined;
  sinceAt: Instant;
}

/** State of one alert channel as text, with its last failure. */
export interface StoredAlerts {
  memory: string | null;
  failure: AlertFailure | null;
}

export interface AlertStoreParts {
  redis: RedisClient;
  identityKey: Uint8Array;
  clock: Clock;
}

type Sealed = StoredAlerts & { version: number; writtenAt: Instant };

/**
 * A running daemon updates records at least hourly (`alerts.checkEveryMinutes`). An older record may have been restored while no daemon was
 * running: repeating an alert is better than missing one. Our choice.
 */
const MEMORY_BELIEVED_MS = 2 * HOUR_MS;

/** Memory of alert channels, by name. */
export type AlertStore = ReturnType<typeof createAlertStore>;

/** Opens the shared memory of alerts. Each record is encrypted, and is never older than the last record that this process saw. */
export function createAlertStore({ redis, identityKey, clock }: AlertStoreParts) {
  const sealer = createProofSealer(identityKey, '{alerts}');
  const records = sealedTable<Sealed>(alertKeys.alerts(), { redis, sealer, kind: 'alerts' });
  const seen = new Map<string, number>();

  function believed(channel: string, record: Sealed | null): StoredAlerts {
    const isReverted = record !== null && record.version < (seen.get(channel) ?? 0);
    if (isReverted) reportDamaged(sealer.owner, 'alerts');
    if (record === null || isReverted) return { memory: null, failure: null };
    const { failure, version, writtenAt } = record;
    seen.set(channel, version);
    return { memory: clock() - writtenAt < MEMORY_BELIEVED_MS ? record.memory : null, failure };
  }

  /**
   * Reads the records. A damaged or reverted record is treated as absent, so problems are reported again. A record without updates for two
   * hours is also treated as absent, without a report: no daemon may have run.
   */
  async function read(): Promise<Map<string, StoredAlerts>> {
    return new Map((await records.entries()).map(({ field, value }) => [field, believed(field, value)]));
  }

  return {
    read,
    /** Returns the last failure of each channel that failed. */
    async failures(): Promise<(AlertFailure & { channel: string })[]> {
      return [...(await read())].flatMap(([channel, { failure }]) =>
        failure === null ? [] : [{ channel, ...failure }],
      );
    },
    async write(channel: string, alerts: StoredAlerts): Promise<void> {
      const version = (seen.get(channel) ?? 0) + 1;
      await records.set(channel, { ...alerts, version, writtenAt: clock() });
      seen.set(channel, version);
    },
    /** Removes alert channels that are no longer configured. */
    retainOnly: (channels: readonly string[]) => records.retainOnly(channels),
  };
}
