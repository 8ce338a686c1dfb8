import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { message } from '../messages/message.ts';
import type { Problem } from '../model/problems.ts';
import type { ReminderStatus } from '../model/reminders.ts';
import type { SyncState } from '../model/sync-state.ts';
import type { Instant } from '../model/time.ts';
import type { TriggerStatus } from '../model/triggers.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { FeedAccess } from '../state/feeds.ts';
import type { Uncertainty } from '../state/protection.ts';
import type { AlertFailure, RefusedFiles } from '../state/reports.ts';
import type { RunReport } from '../state/runs.ts';
import type { StateCounterView } from '../state/state-counter.ts';
import type { ApprovalRequest } from '../state/stored-documents.ts';
import type { StoredSubscription, TargetSubscriptions } from '../state/subscriptions.ts';
import type { TargetGap } from '../state/target-record.ts';
import type { DriftReport, TargetFailure } from '../state/targets.ts';
import type { ConnectionStatus, Forecast } from './installation.ts';

/** What the durability `unsupported` means for an administrator, and what they can do. */
export const DURABILITY_UNSUPPORTED = {
  sentence: message('wait-aof-unsupported'),
  remedy: message('wait-aof-unsupported.remedy'),
};

/**
 * A target in one word, worst first: `paused` by configuration, `stopped` by an error that needs a person, `resting` after one
 * that passes, `held`, `failing`, `drifted` when changes by hand wait for a person (only to be reported, or restored too often
 * today), `incomplete` when rows that may belong to it can't be read, or ids of its configuration are not known, `first-sync` until all
 * that was planned first is written, `working`, `stale` when nothing waits and the last cycle could not read or plan what the target follows,
 * or `in-sync`.
 */
export type TargetState =
  | 'paused'
  | 'stopped'
  | 'resting'
  | 'held'
  | 'failing'
  | 'drifted'
  | 'incomplete'
  | 'first-sync'
  | 'working'
  | 'stale'
  | 'in-sync';

/** What a target's configuration has done about changes by hand. */
export type DriftPolicy = TargetConfiguration['audit']['drift'];

/** Evidence of where a target stands; computed from links and outbox, never from the last job's exit. */
export interface TargetStatus extends SyncState {
  target: string;
  connector: string;
  /** The login that it is written with. */
  connection: string;
  state: TargetState;
  /** What the clinic showed at this time of the next two days was planned for it; null before the first time, and for CRMs as of all. */
  soonAsOf: Instant | null;
  /** What of it could not be read or is not known by the last cycle: the time above stands still for it. */
  gaps: readonly TargetGap[];
  /** With gaps: all else is in sync as of this time; null when it is not, or there are none. */
  exceptGapsAsOf: Instant | null;
  /** Objects that the target is known to hold. */
  links: number;
  /** Of those that are pending, in a target that nothing else is written to since it or its tenant is paused: erasures of who is forgotten; 0 elsewhere. */
  pausedErasures: number;
  /** Since when a person has to decide; null when nothing is held. */
  heldSinceAt: Instant | null;
  /** When the change that is due first was decided. */
  oldestPendingAt: Instant | null;
  /** Records that the clinic's list lacks and that are not confirmed either way yet; the time above stands still for them. */
  unconfirmed: number;
  /** When another calendar last took the place of the one that was written to, which was gone; null for never. */
  calendarReplacedAt: Instant | null;
  failure: TargetFailure | null;
  /** The server that it, or changes of it, wait for; null for none. */
  outage: string | null;
  /** While it rests or is stopped: when it is tried again; null when that is due. */
  nextTryAt: Instant | null;
  /** What is done about changes by hand. */
  policy: DriftPolicy;
  /** What is done by hand and stands as of now, found by the audits; null before the first. */
  drift: DriftReport | null;
  /** Whether some of that waits for a person. */
  isDriftUnrepaired: boolean;
  notifications: NotificationStatus;
  /** Of a feed, when its address was made and last used; null while it has none. Absent for what is no feed. */
  feed?: FeedAccess | null;
  /** What it was given since its state began. */
  created: number;
  updated: number;
  deleted: number;
  adopted: number;
  /** Objects that carry our owner tag and match no record for certain: left alone, for a person to look at. */
  ambiguous: number;
  /** What of it was not as we wrote it, its record or entries of its outbox, since its state began; nothing was done by any of it. */
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

/** Where a tenant stands: its targets together, those that are paused aside unless all are. */
export interface TenantStatus extends SyncState {
  tenant: string;
  name: string;
  paused: boolean;
  configuration: ConfigurationStatus;
  connections: ConnectionStatus[];
  lastRun: RunReport | null;
  /** Time from the beginning of a cycle to that of the next. */
  cycleEveryMs: number;
  targets: TargetStatus[];
  /** Targets (`target/<id>`) and connections (`connection/<id>`) that were taken out of the configuration and still have keys here. */
  removed: RemovedStatus[];
  /** Why it is not known who was forgotten and who opted out, so that nothing is written or sent of people; null when it is. */
  uncertainty: Uncertainty | null;
  /** What one person wants and a second one has to want too. */
  approvals: ApprovalRequest[];
  /** Null where none are configured. */
  reminders: ReminderStatus | null;
  /** Null where none are configured. */
  triggers: TriggerStatus | null;
}

/** A server that is away, and whom that concerns: one for all clinics that wait for it. */
export interface Incident {
  host: string;
  /** Of the error with which it was first noticed. */
  code: string;
  sinceAt: Instant;
  /** When it is next tried, for all that wait; null when that is due. */
  nextTryAt: Instant | null;
  /** Of those that are looked at, with the changes that wait for it. */
  clinics: { tenant: string; waiting: number }[];
  /** Those of them whose clinic system can't be read for it. */
  unread: string[];
}

/** The whole picture. */
export interface Status extends Forecast {
  at: Instant;
  /** What is the matter: what needs a person first. */
  problems: Problem[];
  /** Servers that are away, longest first; each is one of the problems, in place of those of its targets. */
  incidents: Incident[];
  /** How decisions are kept from being lost. */
  state: StateCounterView;
  tenants: TenantStatus[];
  /** Tenants that are not run; those that a daemon runs under what their files held before are below. */
  unusable: { tenant: string; faults: number }[];
  /** Number of tenants that this process has not checked since it started. */
  unchecked: number;
  /** Changed files that running daemons did not take up: what they held before goes on. */
  refused: RefusedFiles[];
  /** Ways of telling that fail, and whose memory in Redis was forged (`record-forged`) in the last day. */
  alertFailures: (AlertFailure & { channel: string })[];
  /** Names of changed settings that wait for a restart of a daemon. */
  awaitsRestart: string[];
  /** Tenants that were taken out of the configuration and still have keys here. */
  removed: RemovedStatus[];
}

/** Whether a target's vendor tells us of changes. Polling goes on either way. */
interface NotificationStatus {
  /** Since when it does; null when it doesn't. */
  sinceAt: Instant | null;
  /** When that ends unless it is prolonged. */
  untilAt: Instant | null;
  /**
   * Why it doesn't: `not-offered` by the vendor, `no-public-address`, `paused`, `not-yet`, or the code of the error. While it does: the
   * code of the error that kept the subscription from being looked after.
   */
  reason: string | null;
}

/** @param subscriptions of the whole tenant: targets on one calendar share a subscription */
export function notificationStatus(
  tenant: Pick<OpenTenant, 'clock' | 'configuration' | 'notifications'>,
  target: OpenTarget,
  container: string | null,
  subscriptions: ReadonlyMap<string, TargetSubscriptions>,
): NotificationStatus {
  const { connector, connection } = target.configuration;
  const isOurs = ({ current }: TargetSubscriptions) =>
    current?.container === container && current.connector === connector && current.connection === connection;
  const subscription = [...subscriptions.values()].find(isOurs);
  const reason = subscription?.failure?.code ?? subscriptions.get(target.id)?.failure?.code ?? null;
  const current = subscription?.current ?? null;
  if (current !== null && isHeard(tenant, target, current)) {
    return { sinceAt: current.heardSinceAt, untilAt: current.expiresAt, reason };
  }
  return { sinceAt: null, untilAt: null, reason: whyNot(tenant, target) ?? reason ?? 'not-yet' };
}

function isHeard(
  tenant: Pick<OpenTenant, 'clock' | 'configuration' | 'notifications'>,
  target: OpenTarget,
  { expiresAt }: StoredSubscription,
): boolean {
  return expiresAt > tenant.clock() && whyNot(tenant, target) === null;
}

function whyNot(tenant: Pick<OpenTenant, 'configuration' | 'notifications'>, target: OpenTarget): string | null {
  if (target.connector.subscriptions === undefined) return 'not-offered';
  if (tenant.notifications.url === null) return 'no-public-address';
  return tenant.configuration.paused || target.configuration.paused ? 'paused' : null;
}
