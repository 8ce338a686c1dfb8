import { randomUUID } from 'node:crypto';
import type { RefusedFiles, RunningConfiguration } from '../../core/model/state-schemas.ts';
import { type Clock, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import type { RedisClient } from '../../state/redis.ts';
import { createProofSealer, sealedTable } from '../../state/sealing.ts';
import { controlKeys } from './keys.ts';

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
  const reports = sealedTable<ReloadReport>(controlKeys.reloads(), { redis, sealer, kind: 'reloads' });
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
