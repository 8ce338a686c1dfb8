import { FEED_CONNECTOR } from '../../core/model/feeds.ts';
import { slices } from '../../core/model/pieces.ts';
import type { Hold } from '../../core/model/plan.ts';
import { healthByTenant, type Problem, subjectOf } from '../../core/model/problems.ts';
import type { ReminderStatus } from '../../core/model/reminders.ts';
import type { FirstSync, SyncHealth } from '../../core/model/schemas.ts';
import type { FeedAccess, RefusedFiles, StorageUse, Uncertainty } from '../../core/model/state-schemas.ts';
import { worseHealth, worstOf } from '../../core/model/sync-state.ts';
import { type Clock, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import type { TriggerStatus } from '../../core/model/triggers.ts';
import type { RunReport } from '../../domain/runs.ts';
import { approvedUnplanned, countDrift } from '../../engine/drift.ts';
import { countErasures } from '../../engine/outbox-operations.ts';
import { auditRules } from '../../engine/policy.ts';
import { unacceptedDrift } from '../../engine/restorations.ts';
import type { HoldTable, LinkTable, StoredTarget, TargetFailure, TargetTable } from '../../engine/store.ts';
import type { RefusedChange } from '../../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../../settings/tenant-schema.ts';
import type { NewestConfigVersion } from '../../state/config-version.ts';
import { DAMAGED } from '../../state/damaged.ts';
import type { Outbox } from '../../state/outbox.ts';
import type { Protection } from '../../state/protection.ts';
import type { TargetSubscriptions } from '../../tenant/subscription-store.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { withoutFuture } from './as-of.ts';
import { damagedOf } from './damage.ts';
import { incidentsOf } from './incidents.ts';
import { type Installation, requireTenant, TENANTS_AT_ONCE } from './installation.ts';
import { withLossAsCause } from './installation-problems.ts';
import { isForPerson, problemsOf } from './problems.ts';
import { countQueued, heldRecords } from './record-states.ts';
import type {
  ConfigurationStatus,
  ConnectionStatus,
  RemovedStatus,
  Status,
  TargetReason,
  TargetStatus,
  TenantStatus,
} from './status-schemas.ts';
import { effectOfPolicy, later, type NotificationSource, notificationStatus } from './status-view.ts';

/** Sync and health by reason. */
const SYNC_HEALTH: Readonly<Record<TargetReason, SyncHealth>> = {
  paused: { sync: 'unknown', health: 'action-required' },
  error: { sync: 'unknown', health: 'action-required' },
  'backing-off': { sync: 'unknown', health: 'retrying' },
  'on-hold': { sync: 'on-hold', health: 'action-required' },
  'writes-failed': { sync: 'behind', health: 'ok' },
  'manual-changes': { sync: 'behind', health: 'ok' },
  'incomplete-data': { sync: 'unknown', health: 'ok' },
  writing: { sync: 'behind', health: 'ok' },
  'next-cycle': { sync: 'behind', health: 'ok' },
  'first-sync': { sync: 'behind', health: 'ok' },
  'read-failed': { sync: 'unknown', health: 'retrying' },
};

const IN_SYNC: SyncHealth = { sync: 'in-sync', health: 'ok' };

/** @param only one or several tenants; default: all */
export async function status(installation: Installation, only?: string | readonly string[]): Promise<Status> {
  return (await Array.fromAsync(statusByAndBy(installation, only))).at(-1) as Status;
}

/** Yields partial results during the read: first the installation, then more and more tenants. */
export async function* statusByAndBy(
  installation: Installation,
  only?: string | readonly string[],
): AsyncGenerator<Status> {
  const ids = only === undefined ? [...installation.tenants.keys()] : [only].flat();
  const { state, ...others } = await statusOfAll(installation, only === undefined);
  const outages = await installation.outages.list();
  let tenants: TenantStatus[] = [];
  const now = () => installation.clock() - others.redis.clockAheadMs;
  const current = async () => {
    const at = now();
    const incidents = incidentsOf(outages, tenants, at, { isAlone: installation.tenants.size === 1 });
    // Reading the tenants may have found some.
    const damaged = await damagedOf(installation, only === undefined ? null : ids);
    return withProblems({ at, state, tenants, incidents, damaged, ...others }, installation);
  };
  yield await current();
  for (const some of slices(ids, TENANTS_AT_ONCE)) {
    // A tenant deleted meanwhile is skipped, unless the caller requested the tenant by name.
    const open = some.flatMap((id) =>
      only === undefined ? (installation.tenants.get(id) ?? []) : requireTenant(installation, id),
    );
    const found = await Promise.all(open.map((tenant) => tenantStatus(installation, tenant)));
    tenants = [...tenants, ...found.map((tenant) => withoutFuture(tenant, now()))];
    yield await current();
  }
}

/** Returns the part of the status outside of tenants. @param isWhole all tenants are requested */
async function statusOfAll(
  installation: Installation,
  isWhole: boolean,
): Promise<Omit<Status, 'at' | 'damaged' | 'incidents' | 'problems' | 'tenants'>> {
  const reloads = await installation.reloads();
  // A daemon reports the begin of a refusal. This process may have read newer files than the daemon.
  const current = [
    ...refusedFiles(installation.refused, [], installation.clock()),
    ...reloads.flatMap((report) => report.refused),
  ];
  const refused = new Map(current.map((files) => [files.tenant, files] as const));
  const invalidTenants = installation.unusable.filter(({ id }) => !refused.has(id));
  return {
    state: await installation.stateCounter.view(),
    redis: await installation.redis(),
    daemons: reloads.flatMap(({ running }) => running ?? []),
    unusable: invalidTenants.map(({ id, faults }) => ({ tenant: id, faults: faults.length })),
    unchecked: installation.unchecked.size,
    refused: [...refused.values()],
    alertFailures: await installation.alertFailures(),
    ...(await installation.forecast()),
    awaitsRestart: [...new Set(reloads.flatMap((report) => report.awaitsRestart))],
    removed: isWhole ? removedStatus(await installation.removed.tenants(), installation) : [],
  };
}

/** Computes problems, and the health of tenants and targets by them, once, on first access. */
function withProblems(found: Omit<Status, 'problems'>, installation: Installation): Status {
  let judged: Pick<Status, 'problems' | 'tenants'> | null = null;
  function judge() {
    if (judged !== null) return judged;
    const problems = problemsOf(found, installation);
    judged = { problems, tenants: withHealth(found.tenants, problems) };
    return judged;
  }
  return {
    ...found,
    get problems() {
      return judge().problems;
    },
    get tenants() {
      return judge().tenants;
    },
  };
}

/** Returns tenants whose health includes their problems, so that status, pages, API and metrics never show `ok` for a tenant with a problem. */
function withHealth(tenants: readonly TenantStatus[], problems: readonly Problem[]): TenantStatus[] {
  const healths = healthByTenant(tenants, problems);
  const byTenant = Map.groupBy(problems, ({ tenant }) => tenant);
  return tenants.map((each) => {
    if (each.paused) return each;
    const own = (byTenant.get(each.tenant) ?? []).filter((problem) => subjectOf(problem).kind === 'target');
    const targets = each.targets.map((target) => {
      const its = own.filter((problem) => subjectOf(problem).id === target.target);
      return { ...target, health: its.reduce((health, problem) => worseHealth(health, problem.health), target.health) };
    });
    return { ...each, targets, health: healths.get(each.tenant) ?? each.health };
  });
}

/** Connection states that stop all work until an administrator reacts. */
const NEEDS_PERSON: ReadonlySet<ConnectionStatus['state']> = new Set([
  'needs-login',
  'never',
  'no-tenant',
  'unconfirmed',
]);

/** Members of a tenant that the status of one target is computed from. */
interface TargetStatusSource extends NotificationSource {
  feeds: { access(target: string): Promise<FeedAccess | null> };
  links: LinkTable;
  notifications: NotificationSource['notifications'] & {
    store: { read(): Promise<ReadonlyMap<string, TargetSubscriptions>> };
  };
  outbox: Outbox;
  /** Maximum age of a plan for writes. */
  planLifeMs: number;
  runs: { list(limit: number): Promise<RunReport[]> };
  targetStore: TargetTable;
}

/** Members of a tenant that its status is computed from. */
interface StatusSource extends TargetStatusSource {
  id: string;
  configuration: { name: string; paused: boolean };
  configVersion: { newest(): Promise<NewestConfigVersion> };
  holds: HoldTable;
  protection: Protection;
  /** Interval of cycles. */
  pullEveryMs: number;
  /** Null without configured reminders. */
  reminders: { status(holds: readonly Hold[], now: Instant): Promise<ReminderStatus> } | null;
  storage: { read(): Promise<StorageUse> };
  targets: ReadonlyMap<string, OpenTarget>;
  /** Null without configured triggers. */
  triggers: { status(): Promise<TriggerStatus> } | null;
}

/** Returns the state of a tenant, without the problems of the installation. */
export async function tenantStatus(installation: Installation, tenant: StatusSource): Promise<TenantStatus> {
  const holds = await tenant.holds.list();
  const [lastRun] = await tenant.runs.list(1);
  const connections = await installation.connections(tenant);
  const uncertainty = await tenant.protection.uncertainty({ lookOnly: true });
  const waiting = new Set(
    connections.filter(({ state }) => NEEDS_PERSON.has(state)).map(({ connection }) => connection),
  );
  // Without the connection, no reads or writes are possible. Patient data is not written while forgotten patients are unknown.
  const waits = ({ connection }: TargetStatus) =>
    uncertainty !== null || waiting.has(CLINIC_CONNECTION) || waiting.has(connection);
  // No clinic reads during the clinic's pause.
  const isClinicPaused = connections.some(
    ({ connection, pause }) => connection === CLINIC_CONNECTION && pause !== null,
  );
  const withProgress = (target: TargetStatus): TargetStatus => {
    if (waits(target)) return { ...target, health: 'action-required' };
    return isClinicPaused && target.health === 'ok' ? { ...target, health: 'retrying' } : target;
  };
  const found = await Promise.all(
    [...tenant.targets.values()].map((target) => targetStatus(tenant, target, holds, lastRun ?? null)),
  );
  const loss = await lossOf(tenant.protection, uncertainty, connections);
  const cause = { tenant: tenant.id, loss };
  const targets = found.map((target) => withProgress({ ...target, failure: withLossAsCause(target.failure, cause) }));
  const active = targets.filter(({ reason }) => reason !== 'paused');
  return {
    tenant: tenant.id,
    name: tenant.configuration.name,
    paused: tenant.configuration.paused,
    configuration: await configurationStatus(tenant),
    connections,
    lastRun: lastRun == null ? null : { ...lastRun, error: withLossAsCause(lastRun.error, cause) },
    cycleEveryMs: tenant.pullEveryMs,
    targets,
    ...worstOf(active.length === 0 ? targets : active),
    removed: removedStatus(await installation.removed.parts(tenant.id), installation),
    uncertainty,
    loss,
    approvals: await installation.approvals(tenant.id),
    reminders: (await tenant.reminders?.status(holds, tenant.clock())) ?? null,
    triggers: (await tenant.triggers?.status()) ?? null,
    storage: await tenant.storage.read(),
  };
}

/** A loss also lost the logins, which a restored backup brings back. After an accepted loss, or a complete cycle, a login is missing by itself. */
async function lossOf(
  protection: Protection,
  uncertainty: Uncertainty | null,
  connections: readonly ConnectionStatus[],
): Promise<Uncertainty | null> {
  if (uncertainty !== null) return uncertainty.code === DAMAGED.code ? null : uncertainty;
  return connections.some(({ state }) => state === 'never') ? protection.unresolvedLoss() : null;
}

function removedStatus(
  missed: ReadonlyMap<string, Instant>,
  { removed: { retentionMs } }: Installation,
): RemovedStatus[] {
  return [...missed].map(([name, missedAt]) => ({ name, missedAt, releaseAt: missedAt + retentionMs }));
}

/** A superseded process retries within seconds as long as the process runs. */
const SUPERSEDED_SHOWN_MS = 10 * MINUTE_MS;

async function configurationStatus({ configVersion, clock }: StatusSource): Promise<ConfigurationStatus> {
  const { number, isOurs, refusedAt } = await configVersion.newest();
  const isRecent = refusedAt !== null && refusedAt > clock() - SUPERSEDED_SHOWN_MS;
  return { number, isOurs, supersededAt: isRecent ? refusedAt : null };
}

/** Computes the status of a target from its stored data. */
export async function targetStatus(
  tenant: TargetStatusSource,
  target: OpenTarget,
  holds: readonly Hold[],
  lastRun: RunReport | null = null,
): Promise<TargetStatus> {
  const heldIds = [...heldRecords(holds, target.id).keys()];
  const [record, counts, links, driftedLinks, oldestPendingAt, subscriptions] = await Promise.all([
    tenant.targetStore.read(target.id),
    countQueued(tenant.outbox, target.id, heldIds),
    tenant.links.count(target.id),
    tenant.links.drifted(target.id),
    tenant.outbox.oldestAt(target.id),
    tenant.notifications.store.read(),
  ]);
  const open = holds.filter((hold) => hold.target === target.id && hold.state === 'open');
  const held = heldIds.length;
  const restorations = open.find(({ kind }) => kind === 'manual-changes')?.recordIds.length ?? 0;
  const { failure, created, updated, deleted, adopted, ambiguous } = record;
  const isPart = target.stream === 'appointments' && lastRun?.snapshot?.completeness === 'partial';
  const isSkipped = lastRun !== null && !lastRun.targets.some((run) => run.target === target.id);
  const readFailed = isPart || (isSkipped && !isAwaiting(tenant, target, lastRun, record));
  const { drift: policy } = auditRules(target.configuration);
  const drift = record.drift === null ? null : { ...record.drift, ...(await countDrift(tenant, target, driftedLinks)) };
  const differing = policy === 'keep' ? 0 : unacceptedDrift(driftedLinks, holds, target, record).length;
  const drifted = differing > 0 && (policy === 'report' || (drift?.churning ?? 0) > 0);
  const { plannedAsOf, unconfirmed } = record;
  const waiting = counts.pending + differing + unconfirmed;
  const undone = await approvedUnplanned(tenant, target.id, holds);
  const quiet = waiting + undone === 0 && held === 0 && failure === null;
  const gaps = record.gaps ?? [];
  const isInSync = quiet && gaps.length === 0;
  const nextTryAt = (record.pausedUntil ?? 0) > tenant.clock() ? record.pausedUntil : null;
  const isFirst = isFirstSync(record, counts.pending + undone);
  const evidence = {
    ...{ isFirst, rests: nextTryAt !== null, gaps: gaps.length, held, failing: counts.failing },
    ...{ pending: counts.pending, waiting: waiting + undone, failure, drifted, plannedAsOf, readFailed },
  };
  const isPaused = tenant.configuration.paused || target.configuration.paused;
  const reason = isPaused ? 'paused' : reasonOf(evidence);
  return {
    target: target.id,
    connector: target.configuration.connector,
    connection: target.configuration.connection,
    reason,
    ...syncStateOf(reason, { isFirst, held, waiting, links, plannedAsOf, pending: counts.pending }),
    inSyncAsOf: isInSync ? plannedAsOf : record.idleAsOf,
    checkedAt: record.drift?.checkedAt ?? null,
    lastWrittenAt: record.lastWrittenAt,
    soonAsOf: later(plannedAsOf, record.soonAsOf),
    gaps: [...gaps],
    exceptGapsAsOf: quiet && gaps.length > 0 ? plannedAsOf : null,
    links: links - driftedLinks.filter((link) => link.drift === 'removed').length,
    ...counts,
    pausedErasures: isPaused && counts.pending + held > 0 ? await countErasures(tenant, target) : 0,
    held,
    heldRestorations: restorations === 0 ? null : { count: restorations, limit: target.configuration.guard.vanished },
    heldSinceAt: open.length === 0 ? null : Math.min(...open.map(({ createdAt }) => createdAt)),
    oldestPendingAt,
    unconfirmed,
    ...{ failure, nextTryAt, outage: record.outage, calendarReplacedAt: record.replacedAt },
    ...{ policy, drift, isDriftUnrepaired: drifted, ...effectOfPolicy(target, record, driftedLinks) },
    ...(target.configuration.connector === FEED_CONNECTOR && { feed: await tenant.feeds.access(target.id) }),
    notifications: notificationStatus(tenant, target, record.container, subscriptions),
    ...{ created, updated, deleted, adopted, ambiguous, dropsMarks: record.readBack?.marks === 'dropped' },
  };
}

/** Returns whether a read is due but not late: a recently planned target is not failing. */
function isAwaiting(
  { clock, planLifeMs }: { clock: Clock; planLifeMs: number },
  { id }: OpenTarget,
  { awaiting }: RunReport,
  { lastPlannedAt }: StoredTarget,
): boolean {
  return awaiting.includes(id) && (lastPlannedAt ?? -Infinity) >= clock() - planLifeMs;
}

/** Returns whether the target has never been in sync, or with gaps never had an empty queue. @param waiting changes on their way */
function isFirstSync({ idleAsOf, writtenOnceAt, plannedAsOf }: StoredTarget, waiting: number): boolean {
  return idleAsOf === null && writtenOnceAt === null && (plannedAsOf === null || waiting > 0);
}

/** A hold is reported even if another problem stops the target. */
function syncStateOf(
  reason: TargetReason | null,
  figures: Record<'held' | 'waiting' | 'links' | 'pending', number> & { isFirst: boolean; plannedAsOf: Instant | null },
): SyncHealth & { firstSync: FirstSync | null } {
  const { sync, health } = reason === null ? IN_SYNC : SYNC_HEALTH[reason];
  const { held, waiting, links, pending } = figures;
  if (reason !== 'paused' && held > 0) return { ...SYNC_HEALTH['on-hold'], firstSync: null };
  if (reason !== 'paused' && figures.isFirst && sync !== 'on-hold') {
    const of = figures.plannedAsOf === null && pending === 0 ? null : links + pending;
    return { sync: 'behind', health, firstSync: { written: links, of } };
  }
  return { sync: sync === 'unknown' && waiting > 0 ? 'behind' : sync, health, firstSync: null };
}

function reasonOf(evidence: {
  /** The first plan was never completely written. */
  isFirst: boolean;
  failure: TargetFailure | null;
  /** Backs off with a different target of its vendor account, without its own failure. */
  rests: boolean;
  held: number;
  failing: number;
  gaps: number;
  /** Changes in the queue; `waiting` also counts the changes of the next cycle. */
  pending: number;
  waiting: number;
  drifted: boolean;
  plannedAsOf: Instant | null;
  readFailed: boolean;
}): TargetReason | null {
  const { failure } = evidence;
  if (failure?.actor === 'guard') return 'on-hold';
  if (failure !== null) return isForPerson(failure.actor) ? 'error' : 'backing-off';
  if (evidence.held > 0) return 'on-hold';
  if (evidence.rests && evidence.waiting > 0) return 'backing-off';
  if (evidence.failing > 0) return 'writes-failed';
  if (evidence.drifted) return 'manual-changes';
  if (evidence.gaps > 0) return 'incomplete-data';
  if (evidence.isFirst) return 'first-sync';
  if (evidence.pending > 0) return 'writing';
  // Without a plan time, the plan was outdated, and the next cycle plans again.
  if (evidence.waiting > 0 || evidence.plannedAsOf === null) return 'next-cycle';
  return evidence.readFailed ? 'read-failed' : null;
}

/** Largest number of reported faults per refusal, because a settings fault may affect every tenant. */
export const MOST_REPORTED = 20;

/** Returns refused files for the status. @param before previous refusals, with their begin */
export function refusedFiles(
  refused: readonly RefusedChange[],
  before: readonly RefusedFiles[],
  now: Instant,
): RefusedFiles[] {
  return refused.map(({ tenant, faults }) => ({
    tenant,
    sinceAt: before.find((one) => one.tenant === tenant)?.sinceAt ?? now,
    faults: faults.slice(0, MOST_REPORTED).map(({ file, line, path, message }) => ({ file, line, path, message })),
    more: Math.max(0, faults.length - MOST_REPORTED),
  }));
}
