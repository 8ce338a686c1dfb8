import { approvedUnplanned } from '../jobs/decided.ts';
import { countDrift } from '../jobs/drift.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Hold } from '../model/plan.ts';
import { slices } from '../model/slices.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { EpochView } from '../state/epoch.ts';
import type { Doubt } from '../state/protection.ts';
import type { RefusedFiles } from '../state/reload-reports.ts';
import type { RunReport } from '../state/runs.ts';
import type { TargetGap } from '../state/target-gaps.ts';
import type { DriftReport, StoredTarget, TargetFailure } from '../state/targets.ts';
import { type ConnectionStatus, type Installation, requireTenant } from './installation.ts';
import { type NotificationStatus, notificationStatus } from './notification-status.ts';
import { type ReminderStatus, reminderStatus } from './reminder-status.ts';
import { type TriggerStatus, triggerStatus } from './trigger-status.ts';

/**
 * A target in one word, worst first: `paused` by configuration, `stopped` by an error that needs a person, `resting` after one
 * that passes, `held`, `failing`, `drifted` when changes by hand wait for a person (only to be reported, or restored too often
 * today), `incomplete` when rows that may belong to it can't be read, or ids of its configuration are not known, `working`, `stale` when nothing waits and the last cycle could not read or plan what the target follows, `in-sync`, or `new`
 * before its first complete cycle.
 */
export type TargetState =
  | 'paused'
  | 'stopped'
  | 'resting'
  | 'held'
  | 'failing'
  | 'drifted'
  | 'incomplete'
  | 'working'
  | 'stale'
  | 'in-sync'
  | 'new';

/** What a target's configuration has done about changes by hand. */
export type DriftPolicy = TargetConfiguration['audit']['drift'];

/** Evidence of where a target stands; computed from links and outbox, never from the last job's exit. */
export interface TargetStatus {
  target: string;
  connector: string;
  state: TargetState;
  /**
   * The target showed what the clinic showed at this time, as far as is known; null before the first time. It stands still while changes
   * by hand are known that the policy does not accept.
   */
  inSyncAsOf: Instant | null;
  /** What the clinic showed at this time of the next two days was planned for it; null before the first time, and for CRMs as of all. */
  nearAsOf: Instant | null;
  /** What of it could not be read or is not known by the last cycle: the time above stands still for it. */
  gaps: readonly TargetGap[];
  /** With gaps: all else is in sync as of this time; null when it is not, or there are none. */
  exceptGapsAsOf: Instant | null;
  /** Objects that the target is known to hold. */
  links: number;
  pending: number;
  failing: number;
  held: number;
  /** When the change that is due first was decided. */
  oldestPendingAt: Instant | null;
  failure: TargetFailure | null;
  /** What is done about changes by hand. */
  policy: DriftPolicy;
  /** What is done by hand and stands as of now, found by the audits; null before the first. */
  drift: DriftReport | null;
  notifications: NotificationStatus;
  /** What it was given since its state began. */
  created: number;
  updated: number;
  deleted: number;
  adopted: number;
  /** Objects that carry our owner tag and match no record for certain: left alone, for a person to look at. */
  ambiguous: number;
  /** Entries of its outbox that were not as we put them in, since its state began; none of them was carried out. */
  forged: number;
}

/** Which configuration a tenant is worked on with. */
export interface ConfigurationStatus {
  /** Number of the newest one that a process planned or wrote with; 0 before the first. */
  number: number;
  /** Whether that is the one of this process; else another process has other files, or has not read these yet. */
  isOurs: boolean;
  /**
   * When a process with an older one was last kept from working (`configuration-superseded`), in the last ten minutes: it does nothing for this
   * tenant until it has read the files of the newest one. Null when there is none.
   */
  supersededAt: Instant | null;
}

/** What is kept here of something that is no longer configured. */
export interface RemovedStatus {
  name: string;
  /** When it was first missed. */
  missedAt: Instant;
  /** From then on its keys go; taken into the configuration again before, it loses nothing. What it wrote elsewhere stays. */
  releaseAt: Instant;
}

/** Where a tenant stands. */
export interface TenantStatus {
  tenant: string;
  name: string;
  paused: boolean;
  configuration: ConfigurationStatus;
  connections: ConnectionStatus[];
  lastRun: RunReport | null;
  targets: TargetStatus[];
  /** Targets (`target/<id>`) and connections (`connection/<id>`) that were taken out of the configuration and still have keys here. */
  removed: RemovedStatus[];
  /** Why it is not known who was forgotten and who opted out, so that nothing is written or sent of people; null when it is. */
  doubt: Doubt | null;
  /** Null where none are configured. */
  reminders: ReminderStatus | null;
  /** Null where none are configured. */
  triggers: TriggerStatus | null;
}

/** The whole picture. */
export interface Status {
  at: Instant;
  /** How decisions are kept from being lost. */
  state: EpochView;
  tenants: TenantStatus[];
  /** Tenants that are not run; those that a daemon runs under what their files held before are below. */
  setAside: { tenant: string; faults: number }[];
  /** Changed files that running daemons did not take up: what they held before goes on. */
  refused: RefusedFiles[];
  /** Names of changed settings that wait for a restart of a daemon. */
  awaitsRestart: string[];
  /** Tenants that were taken out of the configuration and still have keys here. */
  removed: RemovedStatus[];
}

/** Tenants that are open at once to be looked at. */
const TENANTS_AT_ONCE = 50;

/** @param only one tenant; all of them when absent */
export async function status(installation: Installation, only?: string): Promise<Status> {
  const ids = only === undefined ? [...installation.tenants.keys()] : [only];
  const tenants: TenantStatus[] = [];
  const statusOf = (id: string) => tenantStatus(installation, requireTenant(installation, id));
  for (const some of slices(ids, TENANTS_AT_ONCE)) tenants.push(...(await Promise.all(some.map(statusOf))));
  const reloads = await installation.reloads();
  const refused = new Map(reloads.flatMap((report) => report.refused.map((files) => [files.tenant, files] as const)));
  const setAside = installation.setAside.filter(({ id }) => !refused.has(id));
  return {
    at: installation.clock(),
    state: await installation.epoch.view(),
    tenants,
    setAside: setAside.map(({ id, faults }) => ({ tenant: id, faults: faults.length })),
    refused: [...refused.values()],
    awaitsRestart: [...new Set(reloads.flatMap((report) => report.awaitsRestart))],
    removed: only === undefined ? removedStatus(await installation.removed.tenants(), installation) : [],
  };
}

async function tenantStatus(installation: Installation, tenant: OpenTenant): Promise<TenantStatus> {
  const holds = await tenant.holds.list();
  const [lastRun] = await tenant.runs.list(1);
  return {
    tenant: tenant.id,
    name: tenant.configuration.name,
    paused: tenant.configuration.paused,
    configuration: await configurationStatus(tenant),
    connections: await installation.connections(tenant),
    lastRun: lastRun ?? null,
    targets: await Promise.all(
      [...tenant.targets.values()].map((target) => targetStatus(tenant, target, holds, lastRun ?? null)),
    ),
    removed: removedStatus(await installation.removed.parts(tenant.id), installation),
    doubt: await tenant.protection.doubt({ lookOnly: true }),
    reminders: await reminderStatus(tenant.reminders),
    triggers: await triggerStatus(tenant.triggers),
  };
}

function removedStatus(missed: ReadonlyMap<string, Instant>, { removed: { keepMs } }: Installation): RemovedStatus[] {
  return [...missed].map(([name, missedAt]) => ({ name, missedAt, releaseAt: missedAt + keepMs }));
}

/** A superseded process tries again within seconds for as long as it runs. */
const SUPERSEDED_SHOWN_MS = 10 * MINUTE_MS;

async function configurationStatus({ generation, clock }: OpenTenant): Promise<ConfigurationStatus> {
  const { number, isOurs, refusedAt } = await generation.look();
  const isRecent = refusedAt !== null && refusedAt > clock() - SUPERSEDED_SHOWN_MS;
  return { number, isOurs, supersededAt: isRecent ? refusedAt : null };
}

/** Status of one target. */
export async function targetStatus(
  tenant: OpenTenant,
  target: OpenTarget,
  holds: readonly Hold[],
  lastRun: RunReport | null = null,
): Promise<TargetStatus> {
  const [record, counts, links, marked, oldestPendingAt, subscriptions] = await Promise.all([
    tenant.targetStore.read(target.id),
    tenant.outbox.counts(target.id),
    tenant.links.count(target.id),
    tenant.links.marked(target.id),
    tenant.outbox.oldestAt(target.id),
    tenant.notifications.store.read(),
  ]);
  const held = holds
    .filter((hold) => hold.target === target.id && hold.state === 'open')
    .reduce((sum, hold) => sum + hold.recordIds.length, 0);
  const { failure, created, updated, deleted, adopted, ambiguous, forged } = record;
  const isPart = target.stream === 'appointments' && lastRun?.snapshot?.completeness === 'partial';
  const isLeft = lastRun !== null && !lastRun.targets.some((run) => run.target === target.id);
  const readFailed = isPart || (isLeft && !isAwaiting(tenant, target, lastRun, record));
  const policy = target.configuration.audit.drift;
  const drift = record.drift === null ? null : { ...record.drift, ...(await countDrift(tenant, target, marked)) };
  const differing = policy === 'keep' ? 0 : marked.length;
  const drifted = differing > 0 && (policy === 'report' || (drift?.churning ?? 0) > 0);
  const waiting = counts.pending + differing;
  const { plannedAsOf } = record;
  const undone = await approvedUnplanned(tenant, target.id, holds);
  const quiet = waiting + undone === 0 && held === 0 && failure === null;
  const gaps = record.gaps ?? [];
  const settled = quiet && gaps.length === 0;
  const evidence = {
    gaps: gaps.length,
    held,
    failing: counts.failing,
    waiting: waiting + undone,
    failure,
    drifted,
    plannedAsOf,
    readFailed,
  };
  return {
    target: target.id,
    connector: target.configuration.connector,
    state: tenant.configuration.paused || target.configuration.paused ? 'paused' : stateOf(evidence),
    inSyncAsOf: settled ? plannedAsOf : record.settledAsOf,
    nearAsOf: later(plannedAsOf, record.nearAsOf),
    gaps,
    exceptGapsAsOf: quiet && gaps.length > 0 ? plannedAsOf : null,
    links: links - marked.filter((link) => link.drift === 'removed').length,
    ...counts,
    held,
    oldestPendingAt,
    failure,
    policy,
    drift,
    notifications: notificationStatus(tenant, target, record.container, subscriptions),
    created,
    updated,
    deleted,
    adopted,
    ambiguous,
    forged,
  };
}

/** What it follows is yet to be read, and it was planned not long ago: that is how it goes, and no failure. */
function isAwaiting(
  { clock, planLifeMs }: OpenTenant,
  { id }: OpenTarget,
  { awaiting }: RunReport,
  { lastPlannedAt }: StoredTarget,
): boolean {
  return awaiting.includes(id) && (lastPlannedAt ?? -Infinity) >= clock() - planLifeMs;
}

function later(one: Instant | null, other: Instant | null): Instant | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

function stateOf(evidence: {
  failure: TargetFailure | null;
  held: number;
  failing: number;
  gaps: number;
  /** Changes that are on their way, or go with the next cycle. */
  waiting: number;
  drifted: boolean;
  plannedAsOf: Instant | null;
  readFailed: boolean;
}): TargetState {
  const { failure } = evidence;
  if (failure?.actor === 'guard') return 'held';
  if (failure !== null)
    return ['settings', 'authorization', 'contract'].includes(failure.actor) ? 'stopped' : 'resting';
  if (evidence.held > 0) return 'held';
  if (evidence.failing > 0) return 'failing';
  if (evidence.drifted) return 'drifted';
  if (evidence.gaps > 0) return 'incomplete';
  if (evidence.waiting > 0) return 'working';
  if (evidence.plannedAsOf === null) return 'new';
  return evidence.readFailed ? 'stale' : 'in-sync';
}
