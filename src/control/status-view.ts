import { MEBIBYTE } from '../http/client.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { type Message, message } from '../messages/message.ts';
import type { ErrorTexts } from '../model/errors.ts';
import type { Problem } from '../model/problems.ts';
import type { ReminderStatus } from '../model/reminders.ts';
import type { SyncState } from '../model/sync-state.ts';
import type { Instant } from '../model/time.ts';
import type { TriggerStatus } from '../model/triggers.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { DamagedState } from '../state/damaged.ts';
import type { FeedAccess } from '../state/feeds.ts';
import type { Uncertainty } from '../state/protection.ts';
import type { RedisReadings } from '../state/redis-readings.ts';
import type { AlertFailure, RefusedFiles, RunningConfiguration } from '../state/reports.ts';
import type { RunReport } from '../state/runs.ts';
import type { StateCounterView } from '../state/state-counter.ts';
import type { ApprovalRequest } from '../state/stored-documents.ts';
import type { StoredSubscription, TargetSubscriptions } from '../state/subscriptions.ts';
import type { TargetGap } from '../state/target-record.ts';
import type { DriftReport, TargetFailure } from '../state/targets.ts';
import type { StorageUse } from '../state/tenant-storage.ts';
import type { ConnectionStatus, Forecast } from './installation.ts';

/** Meaning and remedy of the durability `unsupported`. */
export const DURABILITY_UNSUPPORTED = {
  sentence: message('wait-aof-unsupported'),
  remedy: message('wait-aof-unsupported.remedy'),
};

/**
 * Reason for the sync status and the health of a target that is not in sync, worst first:
 * - `paused`: by configuration
 * - `error`: stopped by an error that requires action
 * - `backing-off`: retries later, after a temporary error
 * - `on-hold`: waits for a decision
 * - `writes-failed`: some writes fail
 * - `manual-changes`: manual changes require action, because the policy only reports changes or today's repair limit is reached
 * - `incomplete-data`: unreadable records may belong to the target, or configured ids are unknown
 * - `first-sync`: the first plan is not completely written
 * - `writing`: changes are being written
 * - `read-failed`: no change waits, but the last cycle could not read or plan the target's source
 */
export type TargetReason =
  | 'paused'
  | 'error'
  | 'backing-off'
  | 'on-hold'
  | 'writes-failed'
  | 'manual-changes'
  | 'incomplete-data'
  | 'first-sync'
  | 'writing'
  | 'read-failed';

/** Configured reaction to manual changes. */
export type DriftPolicy = TargetConfiguration['audit']['drift'];

/** State of a target, computed from links and outbox, never from the result of the last job. */
export interface TargetStatus extends SyncState {
  target: string;
  connector: string;
  /** Connection used for writes. */
  connection: string;
  /** Null if the target is in sync. */
  reason: TargetReason | null;
  /** Last comparison of the target's objects with the last writes; null before the first. */
  checkedAt: Instant | null;
  /** Instant of clinic data planned for the next two days; null before the first plan. For CRMs, equal to the full plan. */
  soonAsOf: Instant | null;
  /** Unreadable or unknown parts in the last cycle. `inSyncAsOf` does not advance while gaps exist. */
  gaps: readonly TargetGap[];
  /** With gaps: instant up to which the other parts are in sync; null if not in sync, or without gaps. */
  exceptGapsAsOf: Instant | null;
  /** Objects in the target according to the links. */
  links: number;
  /** Pending erasures of forgotten patients in a target paused for other writes; 0 elsewhere. */
  pausedErasures: number;
  /** Begin of the oldest hold; null without a hold. */
  heldSinceAt: Instant | null;
  /** Objects removed by hand that wait for an approval, and the exceeded limit; null without a hold of kind `manual-changes`. */
  heldRestorations: { count: number; limit: { share: number; count: number } } | null;
  /** Decision time of the next due change. */
  oldestPendingAt: Instant | null;
  /** Records missing in the clinic's list without confirmation. `inSyncAsOf` does not advance meanwhile. */
  unconfirmed: number;
  /** Time when a new calendar replaced a deleted calendar; null for never. */
  calendarReplacedAt: Instant | null;
  failure: TargetFailure | null;
  /** Unreachable server for which the target or its changes wait, or null. */
  outage: string | null;
  /** Next retry of a target that backs off or is stopped; null if due. */
  nextTryAt: Instant | null;
  /** Reaction to manual changes. */
  policy: DriftPolicy;
  /** Present manual changes, found by audits; null before the first audit. */
  drift: DriftReport | null;
  /** Whether manual changes require action. */
  isDriftUnrepaired: boolean;
  notifications: NotificationStatus;
  /** Creation and last use of a feed's URL; null without a URL. Absent for other targets. */
  feed?: FeedAccess | null;
  /** Writes since the state began. */
  created: number;
  updated: number;
  deleted: number;
  adopted: number;
  /** Whether the server drops the marks of events, as the first write showed. */
  dropsMarks: boolean;
  /** Objects with clinic-mirror's owner tag but without a certain record. They remain unchanged until an administrator decides. */
  ambiguous: number;
}

/** Configuration generation of a tenant. */
export interface ConfigurationStatus {
  /** Newest generation used by a process to plan or write; 0 before the first use. */
  number: number;
  /** Whether this process uses the newest generation. If not, another process has different files, or has not read the present files. */
  isOurs: boolean;
  /**
   * Last time in ten minutes when a process with an older generation was refused (`configuration-superseded`), or null. The process does no
   * work for this tenant until the process reads the newest files.
   */
  supersededAt: Instant | null;
}

/** Retained data of a tenant or part removed from the configuration. */
export interface RemovedStatus {
  name: string;
  /** Time when the removal was first detected. */
  missedAt: Instant;
  /**
   * Time when the data will be deleted. If configured again before this time, the data remains. Objects written to a target always remain.
   */
  releaseAt: Instant;
}

/** State of a tenant with its targets. Paused targets are ignored, unless every target is paused. */
export interface TenantStatus extends SyncState {
  tenant: string;
  name: string;
  paused: boolean;
  configuration: ConfigurationStatus;
  connections: ConnectionStatus[];
  lastRun: RunReport | null;
  /** Time between the begins of two cycles. */
  cycleEveryMs: number;
  targets: TargetStatus[];
  /** Targets (`target/<id>`) and connections (`connection/<id>`) removed from the configuration, with retained data. */
  removed: RemovedStatus[];
  /** Reason why forgotten patients and opt-outs are unknown, so that no patient data is written or sent; null if known. */
  uncertainty: Uncertainty | null;
  /** Loss of Redis that explains missing data or logins; null without one. */
  loss: Uncertainty | null;
  /** Actions that wait for approval by a second user. */
  approvals: ApprovalRequest[];
  /** Null without configured reminders. */
  reminders: ReminderStatus | null;
  /** Null without configured triggers. */
  triggers: TriggerStatus | null;
  /** Memory in Redis. */
  storage: StorageUse;
}

/** An unreachable server, with every clinic that waits for the server. */
export interface Incident {
  host: string;
  /** Code and texts of the last error; texts are null if unknown. */
  code: string;
  texts: ErrorTexts | null;
  sinceAt: Instant;
  /** Next retry for all waiting work; null if due. */
  nextTryAt: Instant | null;
  /** Examined clinics, with their waiting changes. */
  tenants: { tenant: string; waiting: number }[];
  /** Waiting clinics whose API is unreadable because of the server. */
  unread: string[];
}

/** Complete status. */
export interface Status extends Forecast {
  /** By the clock of Redis. */
  at: Instant;
  /** Problems, with required action first. */
  problems: Problem[];
  /** Unreachable servers, longest first. Each is also a problem, and replaces the problems of its targets. */
  incidents: Incident[];
  /** Proof that Redis works, and its clock. */
  redis: RedisReadings;
  /** Running daemons of the last minute with their configurations. */
  daemons: RunningConfiguration[];
  /** Protection of decisions against loss. */
  state: StateCounterView;
  tenants: TenantStatus[];
  /** Tenants that do not run. Tenants that run with previous files are in `refused`. */
  unusable: { tenant: string; faults: number }[];
  /** Number of tenants that this process has not checked since startup. */
  unchecked: number;
  /** Changed files refused by running daemons. The previous content remains active. */
  refused: RefusedFiles[];
  /** Failing alert channels. */
  alertFailures: (AlertFailure & { channel: string })[];
  /** Damaged data of the last day. */
  damaged: DamagedState[];
  /** Names of changed settings that require a daemon restart. */
  awaitsRestart: string[];
  /** Tenants removed from the configuration, with retained data. */
  removed: RemovedStatus[];
}

/** Whether the vendor notifies clinic-mirror of changes in a target. Polling continues in both cases. */
interface NotificationStatus {
  /** Begin of the subscription; null without a subscription. */
  sinceAt: Instant | null;
  /** End of the subscription, unless renewed. */
  untilAt: Instant | null;
  /**
   * Reason without notifications: `not-offered` by the vendor, `no-public-address`, `paused`, `not-yet`, or an error code. With
   * notifications: error code of the last renewal check.
   */
  reason: string | null;
}

/** @param subscriptions of the whole tenant, because targets on one calendar share a subscription */
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

/** Describes the memory of a tenant in Redis. */
export function storageText({ bytes, limitBytes }: StorageUse): Message {
  const [used, limit] = [bytes ?? 0, limitBytes].map((each) => (each / MEBIBYTE).toFixed(0));
  return bytes === null ? message('storage.unknown') : message('storage', { used: used ?? '', limit: limit ?? '' });
}
