import { MirrorError, REDIS_FAULTS, STATE_WENT_BACK, type StoredError, storedError } from '../../core/model/errors.ts';
import { connectionSubject, needsPerson, type Problem } from '../../core/model/problems.ts';
import type { RunningConfiguration, StateCounterView } from '../../core/model/state-schemas.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { message, type Text } from '../../messages/message.ts';
import type { Status, TenantStatus } from './status-schemas.ts';

/** Larger differences move the windows of reads and the due times of reminders. Project choice. */
export const CLOCKS_APART_MS = 30 * SECOND_MS;
/** Cycle intervals without a daemon before a report. Project choice. */
const LATE_INTERVALS = 2;
/** Every daemon reads a changed file within 10 s and reports within 20 s. Project choice. */
const CONFIGURATIONS_DIFFER_MS = MINUTE_MS;
/** Largest number of daemons named per configuration. */
const NAMED_DAEMONS = 5;

const STATE = message('subject.state');
/** Code of a connection without a login. */
const NOT_CONNECTED = 'not-connected';
/** Codes of a lost Redis state. */
const LOSSES: ReadonlySet<string> = new Set(['state-lost', STATE_WENT_BACK]);
/** Codes of the problems that stop the whole installation. */
export const INSTALLATION_CODES: ReadonlySet<string> = new Set([
  ...['clock-differs', 'data-directory-failed', 'daemon-not-running', 'configurations-differ'],
  ...REDIS_FAULTS,
  ...LOSSES,
]);

/** Returns whether a problem stops the whole installation. */
export function stopsInstallation({ tenant, code }: Pick<Problem, 'tenant' | 'code'>): boolean {
  return tenant === null && INSTALLATION_CODES.has(code);
}

/** Returns whether a code means that Redis lost data. */
export function isLoss(code: string): boolean {
  return LOSSES.has(code);
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

/**
 * Returns the problems that stop the whole installation: of Redis, of the clocks, of the data directory, of configurations, and a missing
 * daemon. Each names every tenant at work, so that no interface shows `ok` for a tenant while the installation does not work. Pure.
 */
export function problemsOfHost({
  at,
  redis,
  state,
  tenants: all,
  daemons,
}: Pick<Status, 'at' | 'redis' | 'state' | 'tenants' | 'daemons'>): Problem[] {
  const tenants = all.flatMap(({ tenant, paused, pending }) => (paused ? [] : [{ tenant, waiting: pending }]));
  const problems = [
    // A Redis that refuses writes also refuses the sign of a running daemon.
    ...(redis.refusal === null ? ofDaemon(redis, all, at) : [ofRedis(redis.refusal, null)]),
    ...ofClock(redis),
    ...ofDirectory(state),
    ...ofConfigurations(daemons, at),
  ];
  return problems.map((problem) => (tenants.length === 0 ? problem : { ...problem, tenants }));
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

/** Returns daemons by configuration, newest first. */
export function byConfiguration(daemons: readonly RunningConfiguration[]) {
  const groups = [...Map.groupBy(daemons, ({ hash }) => hash).values()].map((group) => ({
    names: group.map(({ host, pid }) => `${host} (pid ${pid})`).sort(),
    sinceAt: Math.min(...group.map(({ sinceAt }) => sinceAt)),
  }));
  return groups.sort((one, other) => other.sinceAt - one.sinceAt);
}

/** The tenants' configuration version decides who works: daemons with an older configuration neither plan nor write. */
function ofConfigurations(daemons: readonly RunningConfiguration[], at: Instant): Problem[] {
  const [newest, ...older] = byConfiguration(daemons);
  if (newest === undefined || older.length === 0 || at - newest.sinceAt < CONFIGURATIONS_DIFFER_MS) return [];
  const few = (names: readonly string[]) =>
    [...names.slice(0, NAMED_DAEMONS), ...(names.length > NAMED_DAEMONS ? ['…'] : [])].join(', ');
  const sentence = message('configurations-differ', {
    newest: few(newest.names),
    older: few(older.flatMap(({ names }) => names)),
  });
  const next = message('configurations-differ.remedy');
  const subject = message('subject.configuration');
  const problem = needsPerson({ tenant: null, subject, code: 'configurations-differ', sentence, next });
  return [{ ...problem, sinceAt: newest.sinceAt }];
}

/** Returns the loss of Redis data as one problem of all affected tenants. Only a restored backup brings their logins back too. */
export function ofLoss(tenants: readonly TenantStatus[]): Problem[] {
  const lost = tenants.flatMap(({ tenant, paused, loss, uncertainty, targets }) =>
    loss === null || paused
      ? []
      : [
          {
            tenant,
            loss,
            isUnknown: uncertainty !== null,
            waiting: targets.reduce((sum, { pending }) => sum + pending, 0),
          },
        ],
  );
  const [first] = lost;
  if (first === undefined) return [];
  const [code = first.loss.code] = lost.flatMap(({ loss }) => (loss.code === 'state-lost' ? [loss.code] : []));
  const sentence = message(lost.some(({ isUnknown }) => isUnknown) ? 'people-unknown' : 'logins-lost');
  const command = `clinic-mirror accept-loss ${first.tenant}`;
  const next = message(lost.length === 1 ? 'restore-or' : 'restore-or.each', { command });
  return [
    {
      ...needsPerson({ tenant: null, subject: STATE, code, sentence, next }),
      sinceAt: Math.min(...lost.map(({ loss }) => loss.sinceAt)),
      tenants: lost.map(({ tenant, waiting }) => ({ tenant, waiting })),
    },
  ];
}

/** Returns the failure of a cycle or a target with a loss as the cause of its missing login: a restored backup brings the login back. */
export function withLossAsCause<Failure extends StoredError>(
  failure: Failure | null,
  { tenant, loss }: Pick<TenantStatus, 'tenant' | 'loss'>,
): Failure | null {
  if (loss === null || failure?.code !== NOT_CONNECTED) return failure;
  const remedy = message('restore-or', { command: `clinic-mirror accept-loss ${tenant}` });
  const { code } = loss;
  const error = new MirrorError(message('logins-lost'), { actor: 'authorization', code, retry: 'never', remedy });
  return { ...failure, ...storedError(error, tenant) };
}

/** Returns subjects of logins that a loss explains. The loss is reported once, so their vendors are not asked. */
export function lostLogins({ tenants }: Pick<Status, 'tenants'>, id: string): string[] {
  const { loss = null, connections = [] } = tenants.find(({ tenant }) => tenant === id) ?? {};
  const never = connections.filter(({ state }) => loss !== null && state === 'never');
  return never.map(({ connection }) => connectionSubject(connection));
}
