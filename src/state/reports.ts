import { randomUUID } from 'node:crypto';
import type { Logger } from '../log/logger.ts';
import type { Ending } from '../model/problems.ts';
import { type Clock, DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { createProofSealer, sealedTable } from './sealing.ts';

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

/** What an alert store works with. */
export interface AlertStoreParts {
  redis: RedisClient;
  identityKey: Uint8Array;
  clock: Clock;
  log: Logger;
}

type Sealed = StoredAlerts & { version: number; writtenAt: Instant };

/**
 * It is written with each look, which is at least hourly (`alerts.checkEveryMinutes`), while a daemon runs. An older one may have been put back
 * while none did: rather a problem is told a second time than not. Our choice.
 */
const MEMORY_BELIEVED_MS = 2 * HOUR_MS;

/** What the ways of telling remember, by their name. */
export type AlertStore = ReturnType<typeof createAlertStore>;

/** Opens what all processes of an installation remember of alerts. Each record is sealed, and no older than the last that this process saw. */
export function createAlertStore({ redis, identityKey, clock, log }: AlertStoreParts) {
  const records = sealedTable<Sealed>(keys.alerts(), { redis, sealer: createProofSealer(identityKey, '{alerts}') });
  const seen = new Map<string, number>();

  function believed(channel: string, record: Sealed | null): StoredAlerts {
    const now = clock();
    if (record === null || record.version < (seen.get(channel) ?? 0)) {
      log.error({ code: 'record-forged', channel }, 'memory of alerts is not as clinic-mirror wrote it');
      return { memory: null, failure: null, forgedAt: now };
    }
    const { failure, forgedAt, version, writtenAt } = record;
    seen.set(channel, version);
    const memory = now - writtenAt < MEMORY_BELIEVED_MS ? record.memory : null;
    return { memory, failure, forgedAt: forgedAt !== null && now - forgedAt < DAY_MS ? forgedAt : null };
  }

  return {
    /**
     * A forged record, or one older than this process saw, counts as absent: problems are told again. It is logged, and `forgedAt` says so.
     * So does one that nobody wrote for two hours, and nothing is said of it: no daemon may have run.
     */
    async read(): Promise<Map<string, StoredAlerts>> {
      return new Map((await records.entries()).map(({ field, value }) => [field, believed(field, value)]));
    },
    async write(channel: string, alerts: StoredAlerts): Promise<void> {
      const version = (seen.get(channel) ?? 0) + 1;
      await records.set(channel, { ...alerts, version, writtenAt: clock() });
      seen.set(channel, version);
    },
    /** Removes ways of telling that are not configured any more. */
    retainOnly: (channels: readonly string[]) => records.retainOnly(channels),
  };
}

/** What nobody looked at again for so long is not known any more. */
const CERTIFICATE_RETENTION_MS = 7 * DAY_MS;

/** When certificates of servers end, by `<host>:<port>`, as the process that looks saw it last. */
export type CertificateStore = ReturnType<typeof createCertificateStore>;

/** Opens what all processes know of certificates. @param identityKey seals them: their servers are shown and sent. What is not ours is not known */
export function createCertificateStore(redis: RedisClient, identityKey: Uint8Array) {
  const sealer = createProofSealer(identityKey, '{certificates}');
  const stored = sealedTable<Pick<Ending, 'beganAt' | 'endsAt'>>(keys.certificates(), { redis, sealer });
  return {
    async read(): Promise<Ending[]> {
      return Array.from(await stored.all(), ([of, seen]) => ({ kind: 'certificate', of, ...seen }));
    },
    /** Replaces all that was known. */
    async write(seen: readonly Ending[]): Promise<void> {
      for (const { of, beganAt, endsAt } of seen) await stored.set(of, { beganAt, endsAt });
      await stored.retainOnly(seen.map(({ of }) => of));
      await redis.pexpire(keys.certificates(), CERTIFICATE_RETENTION_MS);
    },
  };
}

/** What a process did not take up of the files as they are now. */
export interface ReloadReport {
  /** When it last said so. */
  at: Instant;
  refused: readonly RefusedFiles[];
  /** Settings that wait for a restart of the process. */
  awaitsRestart: readonly string[];
}

/** What is refused, and why. Null: settings, profiles, or all files together. */
export interface RefusedFiles {
  tenant: string | null;
  sinceAt: Instant;
  /** The first of them. */
  faults: readonly { file: string; line: number | null; path: string; message: string }[];
  /** How many there are beside these. */
  more: number;
}

/** A process that is silent for longer is gone. */
const REPORT_BELIEVED_MS = MINUTE_MS;

/** What running processes say of the files that they can't take up, for whoever asks in another process. */
export type ReloadReports = ReturnType<typeof createReloadReports>;

/**
 * Opens the reports under a name of this process. What no process of this installation said counts as silence: who refuses something says so again.
 * @param identityKey seals them, since they are shown and sent
 */
export function createReloadReports(redis: RedisClient, clock: Clock, identityKey: Uint8Array) {
  const own = randomUUID();
  const sealer = createProofSealer(identityKey, '{reloads}');
  const reports = sealedTable<ReloadReport>(keys.reloads(), { redis, sealer });
  const isSilent = ({ at }: ReloadReport) => at <= clock() - REPORT_BELIEVED_MS;
  return {
    /** Says it for this process; to be said again within a minute. Null: there is nothing to say. */
    async write(report: Omit<ReloadReport, 'at'> | null): Promise<void> {
      await reports.prune(isSilent);
      if (report === null) await reports.remove([own]);
      else await reports.set(own, { at: clock(), ...report });
    },
    /** What processes said in the last minute. */
    list: async () => [...(await reports.all()).values()].filter((report) => !isSilent(report)),
  };
}
