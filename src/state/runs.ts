import type { StoredError } from '../model/errors.ts';
import type { ReadingRemark } from '../model/snapshots.ts';
import { HOUR_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';
import { FORGED, openSealed, type Sealer } from './sealing.ts';
import type { TargetGap } from './target-record.ts';

/** How many changes there were in each of some hours. */
export interface HourlyChanges {
  /** When the hour of the last count began. */
  lastHourAt: Instant;
  /** Oldest first, at most {@link STORED_HOURS}; hours without any are counted too. */
  counts: readonly number[];
}

/** Hours that are remembered: those of a day. */
export const STORED_HOURS = 24;

/** Before the first change. */
export const NO_CHANGES: HourlyChanges = { lastHourAt: 0, counts: [] };

/** The same with some more. One that comes by a clock that was put back counts in the last hour. */
export function withChanges(before: HourlyChanges, at: Instant, changes: number): HourlyChanges {
  const lastHourAt = Math.max(hourOf(at), before.lastHourAt);
  const counts = countsUntil(before, lastHourAt);
  return { lastHourAt, counts: counts.map((count, index) => (index === counts.length - 1 ? count + changes : count)) };
}

/** The counts of the last day's hours, the hour of this moment last; the same number of them whatever is remembered. */
export function countsUntil({ lastHourAt, counts }: HourlyChanges, at: Instant): number[] {
  const passed = Math.round((hourOf(at) - lastHourAt) / HOUR_MS);
  return Array.from({ length: STORED_HOURS }, (_, index) => counts[counts.length - STORED_HOURS + index + passed] ?? 0);
}

function hourOf(at: Instant): Instant {
  return Math.floor(at / HOUR_MS) * HOUR_MS;
}

const replaceReport = redisScript<number>(import.meta.url, 'run-replace');

/** What one cycle did for one target, in numbers. */
export interface TargetRun {
  target: string;
  planned: Record<string, number>;
  held: number;
  released: number;
  unchanged: number;
  /** Absent records that were read alone, and how many of them were there after all. */
  confirmed: number;
  stillThere: number;
  /** Absent records left for the next cycle: missed for the first time, or not read alone. */
  unconfirmed: number;
  /** Records that the target's rules left out or as they were, by the rule's code. */
  omitted: Record<string, number>;
  /** Values that had to be left empty, by property of a CRM: what is no telephone number where one is wanted. */
  unusable: Record<string, number>;
}

/** A part of the catalogue that the login may not read: what it would tell is left out of entries' texts. */
export interface Withheld {
  part: 'agendas' | 'locations' | 'treatments' | 'patients' | 'invoices' | 'history';
  code: string;
  /** Names the scope or the permission. */
  remedy: string | null;
}

/** When the streams that a cycle worked with were read, where they are not read with each cycle. */
export type StreamsRead = Readonly<Partial<Record<'patients' | 'invoices' | 'history', Instant>>>;

/** The clinic that a cycle worked in. */
export interface ClinicSeen {
  /** The clinic's id of the tenant. */
  tenantId: string;
  /** A hash of the catalogue; another process with another one reads its own again. */
  catalogue: string;
}

/**
 * How often a tenant's cycles read all that the targets show. Where they come later than they should, some read the next two days alone,
 * so that these are read more often.
 */
export interface Pace {
  /** So many cycles between two that read all. 0: every cycle reads all. */
  soonPerWhole: number;
  /** How many of them there were since the last one that read all. */
  soonSince: number;
  /** Cycles that began late since some in turn began in time, and those in turn that did. */
  late: number;
  inTime: number;
  /** Whether the last cycle that read all left no question open: nothing absent, held or in doubt. */
  isPlain: boolean;
}

/** Every cycle reads all. */
export const FIRST_PACE: Pace = { soonPerWhole: 0, soonSince: 0, late: 0, inTime: 0, isPlain: false };

/** One cycle's report: counts and codes only. */
export interface RunReport {
  id: string;
  startedAt: Instant;
  finishedAt: Instant;
  /** The last reading of all; null when this cycle failed. */
  snapshot: {
    completeness: 'complete' | 'partial' | 'changes';
    reason: string | null;
    records: number;
    requests: number;
    /** Rows that came twice in one list call that was whole, where some did. */
    repeated?: number;
  } | null;
  /** A cycle that read the next two days alone. What it does not tell stays in the report as the last reading of all told it. */
  soon: { records: number; requests: number } | null;
  pace: Pace;
  /** Rows set aside, by code. */
  unusable: Record<string, number>;
  /** Up to 20 examples: id and field, never a value. */
  unusableExamples: readonly { recordId: string | null; code: string; field: string }[];
  /** Values of records that could not be read and count as not told, by stream and field: `patients.email`. */
  unread?: Readonly<Record<string, number>>;
  unknownStatuses: readonly string[];
  /** What the reading showed of the profile without a loss; absent where there is nothing. */
  remarks?: readonly ReadingRemark[];
  withheld: readonly Withheld[];
  /** By target, and by rule of reminders (`reminders/<rule>`): what of it could not be read or is not known. */
  gaps: Readonly<Record<string, readonly TargetGap[]>>;
  /** As of the last cycle that could read the catalogue; null before the first one. */
  clinic: ClinicSeen | null;
  /** Streams for CRMs, as of the last cycle that could read each; those that were never read are absent. */
  read: StreamsRead;
  /** The process that planned CRMs last, or tried to; null when none did, or a person's command, which doesn't go on with it. */
  crmPlanner: string | null;
  targets: readonly TargetRun[];
  /** Changes that cycles decided in the last day, with those of this one. */
  hourly: HourlyChanges;
  /** Targets that were left as they are since what they follow is yet to be read, by a job of its own. */
  awaiting: readonly string[];
  /** Code of what ended the cycle early. */
  error: StoredError | null;
}

const MOST_RUNS = 50;

/** The id of the run that began then. One at a time per tenant, so a moment names it. */
export function runIdOf(startedAt: Instant): string {
  return startedAt.toString(36);
}

/** The reports of one tenant, newest first. */
export interface RunStore {
  add(report: RunReport): Promise<void>;
  /** Those that are ours. In place of a newest one that is not, the one before is told as if it had failed so (`record-forged`). */
  list(limit: number): Promise<RunReport[]>;
  /** Takes the ids of records out of the examples of every report. @returns how many examples named them */
  erase(recordIds: ReadonlySet<string>): Promise<number>;
}

const CONTEXT = 'run';

/** Opens the reports of a tenant. @param sealer seals with the identity key: their texts are shown and sent */
export function createRunStore(redis: RedisClient, tenant: string, sealer: Sealer): RunStore {
  const key = keys.runs(tenant);
  const sealed = (report: RunReport) => sealer.seal(JSON.stringify(report), CONTEXT);
  const opened = (value: string) => openSealed<RunReport>(sealer, value, CONTEXT);
  return {
    async add(report) {
      await redis
        .pipeline()
        .lpush(key, sealed(report))
        .ltrim(key, 0, MOST_RUNS - 1)
        .exec();
    },
    async list(limit) {
      const [newest, ...others] = await redis.lrange(key, 0, limit - 1);
      const isForged = newest !== undefined && opened(newest) === null;
      const all = isForged ? await redis.lrange(key, 1, limit) : [newest ?? [], ...others].flat();
      const own = all.flatMap((value) => opened(value) ?? []);
      return isForged ? [{ ...(own[0] ?? NEVER_RUN), error: FORGED }, ...own].slice(0, limit) : own;
    },
    async erase(recordIds) {
      let removed = 0;
      for (const value of await redis.lrange(key, 0, -1)) {
        const report = opened(value);
        if (report === null) {
          // Whom it names is not known.
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

/** What is known where no report is ours. */
const NEVER_RUN: RunReport = {
  ...{ id: runIdOf(0), startedAt: 0, finishedAt: 0, snapshot: null, soon: null, pace: FIRST_PACE },
  ...{ unusable: {}, unusableExamples: [], unknownStatuses: [], withheld: [], gaps: {}, clinic: null, read: {} },
  ...{ crmPlanner: null, targets: [], hourly: NO_CHANGES, awaiting: [], error: FORGED },
};
