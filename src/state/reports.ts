import { randomUUID } from 'node:crypto';
import type { Ending, RefusedFiles, RunningConfiguration } from '../model/state-schemas.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { reportDamaged } from './damaged.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { createProofSealer, sealedTable } from './sealing.ts';

/** Reason why alerts cannot be delivered. */
export interface AlertFailure {
  code: string;
  /** Constant remedy, including the location of a refused secret. Absent if unknown. */
  remedy?: string | undefined;
  sinceAt: Instant;
}

/** State of one alert channel as text for `alerts/`, with its last failure. */
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
  const records = sealedTable<Sealed>(keys.alerts(), { redis, sealer, kind: 'alerts' });
  const seen = new Map<string, number>();

  function believed(channel: string, record: Sealed | null): StoredAlerts {
    const isReverted = record !== null && record.version < (seen.get(channel) ?? 0);
    if (isReverted) reportDamaged(sealer.owner, 'alerts');
    if (record === null || isReverted) return { memory: null, failure: null };
    const { failure, version, writtenAt } = record;
    seen.set(channel, version);
    return { memory: clock() - writtenAt < MEMORY_BELIEVED_MS ? record.memory : null, failure };
  }

  return {
    /**
     * Reads the records. A damaged or reverted record is treated as absent, so problems are reported again. A record without updates for two
     * hours is also treated as absent, without a report: no daemon may have run.
     */
    async read(): Promise<Map<string, StoredAlerts>> {
      return new Map((await records.entries()).map(({ field, value }) => [field, believed(field, value)]));
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

/** Retention of certificates that are no longer checked. */
const CERTIFICATE_RETENTION_MS = 7 * DAY_MS;

/** Expiry of server certificates by `<host>:<port>`, from the last check of any process. */
export type CertificateStore = ReturnType<typeof createCertificateStore>;

/** Opens the shared certificate data. @param identityKey seals the data, which is shown and sent; damaged data is ignored */
export function createCertificateStore(redis: RedisClient, identityKey: Uint8Array) {
  const sealer = createProofSealer(identityKey, '{certificates}');
  const stored = sealedTable<Pick<Ending, 'beganAt' | 'endsAt'>>(keys.certificates(), {
    redis,
    sealer,
    kind: 'certificates',
  });
  return {
    async read(): Promise<Ending[]> {
      return Array.from(await stored.all(), ([of, seen]) => ({ kind: 'certificate', of, ...seen }));
    },
    /** Replaces all data. */
    async write(seen: readonly Ending[]): Promise<void> {
      for (const { of, beganAt, endsAt } of seen) await stored.set(of, { beganAt, endsAt });
      await stored.retainOnly(seen.map(({ of }) => of));
      await redis.pexpire(keys.certificates(), CERTIFICATE_RETENTION_MS);
    },
  };
}

/** Changes of files that a process did not apply. */
export interface ReloadReport {
  /** Time of the last report. */
  at: Instant;
  refused: readonly RefusedFiles[];
  /** Settings that require a restart. */
  awaitsRestart: readonly string[];
  /** Null until all tenants are checked. Absent in reports of earlier releases. */
  running?: RunningConfiguration | null;
}

/** Time without a report after which a process is considered gone. */
const REPORT_BELIEVED_MS = MINUTE_MS;

/** Reports of running processes about their files, for use in other processes. */
export type ReloadReports = ReturnType<typeof createReloadReports>;

/**
 * Opens the reports under a random name of this process. Damaged reports are ignored, because a process with refused files reports again.
 * @param identityKey seals the reports, which are shown and sent
 */
export function createReloadReports(redis: RedisClient, clock: Clock, identityKey: Uint8Array) {
  const own = randomUUID();
  const sealer = createProofSealer(identityKey, '{reloads}');
  const reports = sealedTable<ReloadReport>(keys.reloads(), { redis, sealer, kind: 'reloads' });
  const isSilent = ({ at }: ReloadReport) => at <= clock() - REPORT_BELIEVED_MS;
  return {
    /** Writes this process's report, which must be repeated within a minute. Null removes the report. */
    async write(report: Omit<ReloadReport, 'at'> | null): Promise<void> {
      await reports.prune(isSilent);
      if (report === null) await reports.remove([own]);
      else await reports.set(own, { at: clock(), ...report });
    },
    /** Returns the reports of the last minute. */
    list: async () => [...(await reports.all()).values()].filter((report) => !isSilent(report)),
  };
}
