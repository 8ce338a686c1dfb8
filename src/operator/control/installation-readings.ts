import { setTimeout as pause } from 'node:timers/promises';
import { asMirrorError, redisFaultOf, redisUnreachable } from '../../core/model/errors.ts';
import { type Problem, SERVER_AWAY, subjectOf } from '../../core/model/problems.ts';
import type { RedisReadings } from '../../core/model/state-schemas.ts';
import { type Instant, SECOND_MS } from '../../core/model/time.ts';
import type { ShownQueue } from '../../jobs/queues.ts';
import { RELEASE_EVERY_MS } from '../../tenant/release.ts';
import { readActivity } from './activity.ts';
import type { EndedProblem } from './ended-problems.ts';
import type { Installation } from './installation.ts';
import { ofRedis } from './installation-problems.ts';
import type { ActServices } from './recording.ts';
import type { Status } from './status-schemas.ts';
import type { Statuses } from './statuses.ts';

/** Part of the installation that the problems of a status concern. */
export type InstallationPart =
  | 'daemons'
  | 'configuration'
  | 'redis'
  | 'directory'
  | 'budgets'
  | 'expiry'
  | 'servers'
  | 'alerts'
  | 'others';

/** Predicted ends, of connections of a tenant too. */
const EXPIRY_CODES: ReadonlySet<string> = new Set([
  'certificate-ending',
  'secret-ending',
  'login-ending',
  'login-resting',
]);

/** Returns the part of the installation that a problem concerns; null for a problem of one tenant. */
export function partOf(problem: Pick<Problem, 'tenant' | 'code' | 'texts'>): InstallationPart | null {
  const { tenant, code } = problem;
  const { kind } = subjectOf(problem);
  if (EXPIRY_CODES.has(code)) return 'expiry';
  if (kind === 'quota') return 'budgets';
  if (kind === 'configuration') return code === 'configurations-differ' ? 'daemons' : 'configuration';
  if (tenant !== null) return null;
  if (code === SERVER_AWAY) return 'servers';
  if (code === 'data-directory-failed') return 'directory';
  if (kind === 'alerts') return 'alerts';
  if (kind === 'cycles') return 'daemons';
  return kind === 'state' ? 'redis' : 'others';
}

/** Last backup in the audit log. Times of failed backups are not read. */
export interface BackupReading {
  /** Whether the log could be read; `none` without a data directory. */
  log: 'none' | 'failed' | 'read';
  /** Null if the newest records of the log contain no backup. */
  last: { at: Instant; tenant: string | null } | null;
}

/** Readings of the whole installation, each with its time. */
export interface InstallationReadings {
  /** A status of all tenants, at most a few seconds old; partial during the first computation. */
  status: Status;
  /** Problems of the status, and the refusal of the present test write. */
  problems: readonly Problem[];
  ended: readonly EndedProblem[];
  /** Read for this answer. */
  redis: RedisReadings;
  queues: readonly ShownQueue[];
  backups: BackupReading;
  /** Checks that delete data after its period; null before the first check. */
  checks: { lastAt: Instant; nextAt: Instant } | null;
  /** Time of the readings other than the status. */
  readAt: Instant;
}

/** Longest wait for the test write: an operator waits for the answer. Project choice. */
const REDIS_WAIT_MS = 3 * SECOND_MS;
/** Longest wait for a new status, because a status of a thousand tenants takes seconds. */
const STATUS_WAIT_MS = 500;
/** Number of backups in the audit log that are searched for a successful one. */
const BACKUPS_READ = 20;

/**
 * Reads the state of the whole installation. Redis is tested first, because an older status says nothing about the present.
 * @param acts services of the audit log
 * @returns the problem of a Redis that does not answer
 */
export async function readInstallation(
  { installation, statuses }: { installation: Installation; statuses: Statuses },
  acts: ActServices,
): Promise<InstallationReadings | { away: Problem }> {
  try {
    const redis = await answered(installation.redis());
    const status = await statuses.readSoFar(installation, STATUS_WAIT_MS);
    const { check } = await installation.upkeep.read(null);
    return {
      ...{ status, redis, ended: statuses.ended() },
      problems: withRefusal(status.problems, redis),
      queues: await installation.queues(1),
      backups: await lastBackup(acts),
      checks: check === undefined ? null : { lastAt: check.at, nextAt: check.at + RELEASE_EVERY_MS },
      readAt: installation.clock(),
    };
  } catch (error) {
    const fault = redisFaultOf(error);
    if (fault === null) throw error;
    return { away: ofRedis(fault, null) };
  }
}

/** A command to a Redis that is away waits longer than an operator. */
async function answered<Reading>(reading: Promise<Reading>): Promise<Reading> {
  const ended = new AbortController();
  const late = pause(REDIS_WAIT_MS, undefined, { signal: ended.signal }).then(() => {
    throw redisUnreachable(new Error(`no answer within ${REDIS_WAIT_MS} ms`));
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    ended.abort();
    for (const unused of [reading, late]) unused.catch(() => {});
  }
}

function withRefusal(problems: readonly Problem[], { refusal }: RedisReadings): readonly Problem[] {
  if (refusal === null || problems.some(({ code }) => code === refusal.code)) return problems;
  return [ofRedis(refusal, null), ...problems];
}

async function lastBackup(acts: ActServices): Promise<BackupReading> {
  if (acts.log === null) return { log: 'none', last: null };
  const filter = { tenant: null, verb: 'backup', sinceAt: null, record: null };
  try {
    const { lines } = await readActivity(acts, { after: null, limit: BACKUPS_READ, filter, sees: () => true });
    const last = lines.find(({ entry }) => entry?.verb === 'backup' && entry.outcome === 'done')?.entry ?? null;
    return { log: 'read', last: last && { at: Date.parse(last.at), tenant: last.tenant } };
  } catch (error) {
    if (redisFaultOf(error) !== null || asMirrorError(error).code === 'unexpected') throw error;
    return { log: 'failed', last: null };
  }
}
