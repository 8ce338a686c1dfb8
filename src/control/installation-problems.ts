import { message, type Text } from '../messages/message.ts';
import { isRedisFault } from '../model/errors.ts';
import { needsPerson, type Problem } from '../model/problems.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import type { StateCounterView } from '../state/state-counter.ts';
import type { Status, TenantStatus } from './status-view.ts';

/** Larger differences move the windows of reads and the due times of reminders. Project choice. */
export const CLOCKS_APART_MS = 30 * SECOND_MS;
/** Cycle intervals without a daemon before a report. Project choice. */
const LATE_INTERVALS = 2;

const STATE = message('subject.state');
const CODES: ReadonlySet<string> = new Set(['clock-differs', 'data-directory-failed', 'daemon-not-running']);

/** Returns whether a problem stops the whole installation. */
export function stopsInstallation({ tenant, code }: Pick<Problem, 'tenant' | 'code'>): boolean {
  return tenant === null && (CODES.has(code) || isRedisFault(code));
}

/** Returns the problem of a Redis that does not answer, or refuses commands. @param sinceAt null if unknown */
export function ofRedis(
  { code, texts }: Pick<NonNullable<Status['redis']['refusal']>, 'code' | 'texts'>,
  sinceAt: Instant | null,
): Problem {
  return {
    ...needsPerson({ tenant: null, subject: STATE, code, sentence: texts.message, next: texts.remedy }),
    sinceAt,
  };
}

/** Returns the problems that stop the whole installation: of Redis, of the clocks, of the data directory, and a missing daemon. Pure. */
export function problemsOfHost({
  at,
  redis,
  state,
  tenants,
}: Pick<Status, 'at' | 'redis' | 'state' | 'tenants'>): Problem[] {
  return [
    ...(redis.refusal === null ? [] : [ofRedis(redis.refusal, null)]),
    ...ofClock(redis),
    ...ofDirectory(state),
    ...ofDaemon(redis, tenants, at),
  ];
}

function ofClock({ clockAheadMs }: Status['redis']): Problem[] {
  if (Math.abs(clockAheadMs) <= CLOCKS_APART_MS) return [];
  const sentence = message('clock-differs', { seconds: (Math.abs(clockAheadMs) / SECOND_MS).toFixed(0) });
  const next = message('clock-differs.remedy');
  return [needsPerson({ tenant: null, subject: STATE, code: 'clock-differs', sentence, next })];
}

/** Returns sentence and next step of a data directory that cannot be written to. */
export function textsOfDirectory({ directoryFailure }: StateCounterView): { sentence: Text; next: Text } {
  const failure = directoryFailure ?? 'unknown';
  const text = failure === 'ENOSPC' ? 'data-directory-full' : 'data-directory-failed';
  return { sentence: message(text, { failure }), next: message(`${text}.remedy`) };
}

function ofDirectory(state: StateCounterView): Problem[] {
  if (state.directory !== 'failed') return [];
  return [needsPerson({ tenant: null, subject: STATE, code: 'data-directory-failed', ...textsOfDirectory(state) })];
}

/** A cycle without a daemon, by a command, counts like a daemon. Without any sign of a daemon the installation is new. */
function ofDaemon({ daemonSeenAgoMs }: Status['redis'], tenants: readonly TenantStatus[], at: Instant): Problem[] {
  const atWork = tenants.filter(({ paused }) => !paused);
  const cycles = atWork.flatMap(({ lastRun }) =>
    lastRun !== null && lastRun.finishedAt > 0 ? [at - lastRun.finishedAt] : [],
  );
  const agoMs = Math.min(...cycles, ...(daemonSeenAgoMs === null ? [] : [daemonSeenAgoMs]));
  const shortestMs = Math.min(...atWork.map(({ cycleEveryMs }) => cycleEveryMs));
  if (!Number.isFinite(agoMs) || agoMs <= LATE_INTERVALS * shortestMs) return [];
  const sentence = message('daemon-not-running');
  const next = message('daemon-not-running.remedy');
  const problem = needsPerson({
    ...{ tenant: null, subject: message('subject.cycles'), code: 'daemon-not-running', sentence, next },
  });
  return [{ ...problem, sinceAt: at - agoMs }];
}
