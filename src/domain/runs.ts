import type { StoredError } from '../core/model/errors.ts';
import type {
  ClinicSeen,
  HourlyChanges,
  ReadingRemark,
  TargetGap,
  TargetRun,
  Withheld,
} from '../core/model/run-schemas.ts';
import { storedJson } from '../core/model/stored-limits.ts';
import { HOUR_MS, type Instant } from '../core/model/time.ts';
import { keys } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { redisScript, sendAll } from '../state/script.ts';
import { openSealed, type Sealer } from '../state/sealing.ts';

/** Hours of a day. */
export const STORED_HOURS = 24;

/** Before the first change. */
export const NO_CHANGES: HourlyChanges = { lastHourAt: 0, counts: [] };

/** Adds changes. If the clock was set back, the changes are added to the last hour. */
export function withChanges(before: HourlyChanges, at: Instant, changes: number): HourlyChanges {
  const lastHourAt = Math.max(hourOf(at), before.lastHourAt);
  const counts = countsUntil(before, lastHourAt);
  return { lastHourAt, counts: counts.map((count, index) => (index === counts.length - 1 ? count + changes : count)) };
}

/** Returns the counts of the last day's hours, current hour last; always an equal number of hours. */
export function countsUntil({ lastHourAt, counts }: HourlyChanges, at: Instant): number[] {
  const passed = Math.round((hourOf(at) - lastHourAt) / HOUR_MS);
  return Array.from({ length: STORED_HOURS }, (_, index) => counts[counts.length - STORED_HOURS + index + passed] ?? 0);
}

function hourOf(at: Instant): Instant {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

const replaceReport = redisScript<number>(import.meta.url, 'run-replace');

/** Fetch times of the streams of a cycle, for streams that are not fetched in each cycle. */
export type StreamsRead = Readonly<Partial<Record<'patients' | 'invoices' | 'history', Instant>>>;

/**
 * Frequency of a tenant's complete cycles. If cycles start late, some cycles fetch only the next two days, so that near appointments are
 * fetched more often.
 */
export interface Pace {
  /** Number of short cycles between two complete cycles. 0: every cycle is complete. */
  soonPerWhole: number;
  /** Number of short cycles since the last complete cycle. */
  soonSince: number;
  /** Cycles that started late since the last series of punctual cycles, and the punctual cycles in a row. */
  late: number;
  inTime: number;
  /** Whether the last complete cycle left no question open: no absent, held or uncertain records. */
  isPlain: boolean;
}

/** Every cycle is complete. */
export const FIRST_PACE: Pace = { soonPerWhole: 0, soonSince: 0, late: 0, inTime: 0, isPlain: false };

/** Report of one cycle: counts and codes only. */
export interface RunReport {
  id: string;
  startedAt: Instant;
  finishedAt: Instant;
  /** Last complete fetch; null if this cycle failed. */
  snapshot: {
    completeness: 'complete' | 'partial' | 'changes';
    reason: string | null;
    records: number;
    requests: number;
    /** Records that appeared twice in one complete list, if any. */
    repeated?: number;
  } | null;
  /** Cycle that fetched only the next two days. The remaining values stay as the last complete fetch reported them. */
  soon: { records: number; requests: number } | null;
  pace: Pace;
  /** Unusable records, by code. */
  unusable: Record<string, number>;
  /** Up to 20 examples: id and field, never a value. */
  unusableExamples: readonly { recordId: string | null; code: string; field: string }[];
  /** Unreadable values that are treated as missing, by stream and field: `patients.email`. */
  unread?: Readonly<Record<string, number>>;
  unknownStatuses: readonly string[];
  /** Remarks about the profile without data loss; absent if none. */
  remarks?: readonly ReadingRemark[];
  withheld: readonly Withheld[];
  /** By target, and by rule of reminders (`reminders/<rule>`): unread or unknown data. */
  gaps: Readonly<Record<string, readonly TargetGap[]>>;
  /** Consecutive cycles in which absent records could not be read individually; absent for 0. */
  unconfirmableCycles?: number;
  /** State at the last cycle with a readable catalogue; null before the first. */
  clinic: ClinicSeen | null;
  /** Streams for CRMs at the last successful fetch of each; streams without a fetch are absent. */
  read: StreamsRead;
  /** Process that last planned CRMs or tried to; null if none, or for an operator's command, which does not continue the work. */
  crmPlanner: string | null;
  targets: readonly TargetRun[];
  /** Changes that cycles planned in the last day, including this cycle. */
  hourly: HourlyChanges;
  /** Unchanged targets, because a separate job must fetch their data first. */
  awaiting: readonly string[];
  /** Error code if the cycle ended early. */
  error: StoredError | null;
}

const MOST_RUNS = 50;

/** Returns the id of a run by its start. A tenant has one run at a time, so the start is unique. */
export function runIdOf(startedAt: Instant): string {
  return startedAt.toString(36);
}

/** Reports of one tenant, newest first. */
export interface RunStore {
  /** @param most reports that remain, with this one */
  add(report: RunReport, most?: number): Promise<void>;
  /** Lists genuine reports; damaged reports count as absent. */
  list(limit: number): Promise<RunReport[]>;
  /** Removes record ids from the examples of every report. @returns the number of removed examples */
  erase(recordIds: ReadonlySet<string>): Promise<number>;
}

const CONTEXT = 'run';

/** Opens the reports of a tenant. @param sealer encrypts with the identity key, because texts are shown and sent */
export function createRunStore(redis: RedisClient, tenant: string, sealer: Sealer): RunStore {
  const key = keys.runs(tenant);
  const sealed = (report: RunReport) => sealer.seal(storedJson(report), CONTEXT);
  const opened = (value: string) => openSealed<RunReport>(sealer, value, CONTEXT, 'runs');
  return {
    async add(report, most = MOST_RUNS) {
      await sendAll(
        redis
          .pipeline()
          .lpush(key, sealed(report))
          .ltrim(key, 0, most - 1),
      );
    },
    async list(limit) {
      const reports: RunReport[] = [];
      // Reads one report more than requested, because a damaged report is absent from the result.
      for (const value of await redis.lrange(key, 0, limit)) {
        const report = reports.length < limit ? opened(value) : null;
        if (report !== null) reports.push(report);
      }
      return reports;
    },
    async erase(recordIds) {
      let removed = 0;
      for (const value of await redis.lrange(key, 0, -1)) {
        const report = opened(value);
        if (report === null) {
          // The named records are unknown.
          await redis.lrem(key, 0, value);
          continue;
        }
        const names = ({ recordId }: RunReport['unusableExamples'][number]) =>
          recordId !== null && recordIds.has(recordId);
        const named = report.unusableExamples.filter(names).length;
        if (named === 0) continue;
        const invalidExamples = report.unusableExamples.map((one) => (names(one) ? { ...one, recordId: null } : one));
        await replaceReport(redis, [key], [value, sealed({ ...report, unusableExamples: invalidExamples })]);
        removed += named;
      }
      return removed;
    },
  };
}
